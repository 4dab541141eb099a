"""The driver side of the line protocol: one JSON request per line in, one JSON answer per line out.

Request: `{"op": NAME, "arguments": {...}}`. Answer: `{"result": ...}`, or
`{"error": {"code": BROKER_ERROR_NUMBER_OR_NULL, "name": ..., "message": ...}}`. A driver is a class
whose public methods are the operations. End of input ends the driver.
Standard output belongs to the protocol alone; what a library prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from ..values import ClientFailure, ConsumerSettings, Json, Received, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

PRODUCE_TIMEOUT_S = 20.0
ADMIN_TIMEOUT_S = 20.0
POLL_RECORDS_MAX = 1_000


class ConsumerDriver(ABC):
    """One open consumer of a client library."""

    @abstractmethod
    def poll(self, timeout_ms: int) -> list[Received]: ...

    @abstractmethod
    def assignment(self) -> list[tuple[str, int]]: ...

    @abstractmethod
    def assignments_seen(self) -> int:
        """How often the library told its user about a new assignment."""

    @abstractmethod
    def commit(self, offsets: dict[tuple[str, int], int] | None) -> None: ...

    @abstractmethod
    def committed(self, topic: str, partition: int) -> int | None: ...

    @abstractmethod
    def seek(self, topic: str, partition: int, offset: int) -> None: ...

    @abstractmethod
    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None: ...

    @abstractmethod
    def close(self) -> None: ...


class Driver:
    """Operations common to all drivers: bookkeeping of consumers; the rest is the library's."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self._consumers: dict[int, ConsumerDriver] = {}
        self._next_consumer_id = 0

    def new_consumer(self, settings: ConsumerSettings) -> ConsumerDriver:
        raise NotImplementedError

    def send(
        self, topic: str, records: Sequence[Record], codec: str, idempotent: bool
    ) -> list[int]:
        raise NotImplementedError

    def failure(self, error: Exception) -> ClientFailure | None:
        """The broker's error number inside a library's exception, if there is one."""
        raise NotImplementedError

    def produce(self, topic: str, records: list[Json], codec: str, idempotent: bool) -> list[int]:
        return self.send(topic, [Record.from_json(r) for r in records], codec, idempotent)

    def open_consumer(self, settings: Json) -> int:
        self._next_consumer_id += 1
        consumer = self.new_consumer(ConsumerSettings.from_json(settings))
        self._consumers[self._next_consumer_id] = consumer
        return self._next_consumer_id

    def poll(self, consumer: int, timeout_ms: int) -> list[Json]:
        return [received.to_json() for received in self._consumers[consumer].poll(timeout_ms)]

    def assignment(self, consumer: int) -> list[list[Any]]:
        return [[topic, number] for topic, number in self._consumers[consumer].assignment()]

    def assignments_seen(self, consumer: int) -> int:
        return self._consumers[consumer].assignments_seen()

    def commit(self, consumer: int, offsets: list[list[Any]] | None) -> None:
        chosen = None if offsets is None else {(t, p): offset for t, p, offset in offsets}
        self._consumers[consumer].commit(chosen)

    def committed(self, consumer: int, topic: str, partition: int) -> int | None:
        return self._consumers[consumer].committed(topic, partition)

    def seek(self, consumer: int, topic: str, partition: int, offset: int) -> None:
        self._consumers[consumer].seek(topic, partition, offset)

    def offset_for_time(
        self, consumer: int, topic: str, partition: int, timestamp_ms: int
    ) -> int | None:
        return self._consumers[consumer].offset_for_time(topic, partition, timestamp_ms)

    def close(self, consumer: int) -> None:
        self._consumers.pop(consumer).close()


def _answer(driver: Driver, line: str) -> Json:
    request = json.loads(line)
    try:
        operation = getattr(driver, request["op"])
        return {"result": operation(**request["arguments"])}
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        failure = error if isinstance(error, ClientFailure) else driver.failure(error)
        if failure is None:
            failure = ClientFailure(None, type(error).__name__, str(error))
        return {"error": {"code": failure.code, "name": failure.name, "message": failure.message}}


def serve(driver_class: type[Driver]) -> None:
    """Run a driver until its standard input ends; the only argument is the broker's address."""
    protocol_out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    driver = driver_class(sys.argv[1])
    for line in sys.stdin:
        protocol_out.write(json.dumps(_answer(driver, line)) + "\n")
        protocol_out.flush()
    os._exit(0)  # libraries' threads must not hold up the end

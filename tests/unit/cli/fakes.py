"""Stand-ins for confluent-kafka's objects: no sockets, answers given in advance."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any


@dataclass
class FakeError:
    """A KafkaError: a name and a sentence."""

    code_name: str
    sentence: str = "Broker: it went wrong"

    def name(self) -> str:
        return self.code_name

    def str(self) -> str:
        return self.sentence


@dataclass
class FakeMessage:
    """A Message."""

    offset_: int
    partition_: int = 0
    value_: bytes | None = b"v"
    error_: FakeError | None = None

    def offset(self) -> int:
        return self.offset_

    def partition(self) -> int:
        return self.partition_

    def topic(self) -> str:
        return "t"

    def error(self) -> FakeError | None:
        return self.error_


@dataclass
class FakeConsumer:
    """Gives out batches one after the other, then nothing."""

    batches: list[list[FakeMessage]]
    asked: list[int] = field(default_factory=list)

    def consume(self, count: int, timeout: float) -> list[FakeMessage]:
        self.asked.append(count)
        return self.batches.pop(0)[:count] if self.batches else []


@dataclass
class FakeProducer:
    """Acknowledges every record, or refuses all with one error."""

    error: FakeError | None = None
    full_times: int = 0
    sent: list[tuple[Any, ...]] = field(default_factory=list)
    left: int = 0
    _waiting: list[Any] = field(default_factory=list)

    def produce(
        self, topic: str, value: Any, key: Any, partition: int, done: Any, **more: Any
    ) -> None:
        if self.full_times:
            self.full_times -= 1
            raise BufferError("full")
        self.sent.append((topic, value, key, partition, more))
        self._waiting.append(done)

    def poll(self, timeout: float) -> None:
        for offset, done in enumerate(self._waiting):
            done(self.error, FakeMessage(offset))
        self._waiting.clear()

    def flush(self, timeout: float) -> int:
        self.poll(0)
        return self.left


def answered(value: Any) -> Future[Any]:
    """A future that is done."""
    future: Future[Any] = Future()
    if isinstance(value, BaseException):
        future.set_exception(value)
    else:
        future.set_result(value)
    return future

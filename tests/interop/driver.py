"""The test side of the line protocol: `Client` is a driver process, `Consumer` is inside one.

A driver process can be killed like any process; that is how a scenario lets a member crash.
See `clients/driver_loop.py` for the protocol.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from typing import TYPE_CHECKING, Any

from .values import (
    ClientFailure,
    ConsumerSettings,
    GroupDescription,
    Received,
    Record,
    TopicPartition,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

OPERATION_TIMEOUT_S = 60.0
EXIT_TIMEOUT_S = 5.0
POLL_TIMEOUT_MS = 100
LOG_TAIL_CHARACTERS = 3_000


class DriverGone(AssertionError):
    """The driver process ended, or did not answer in time."""


class Client:
    """One client library in a process of its own."""

    def __init__(self, name: str, command: Sequence[str], directory: Path, log: Path) -> None:
        self.name = name
        self._log_path = log
        with log.open("ab") as errors:
            # A session of its own, so that a kill also reaches what the driver started.
            self._process = subprocess.Popen(
                command,
                cwd=directory,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )

    def call(self, op: str, **arguments: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        watchdog = threading.Timer(OPERATION_TIMEOUT_S, self.crash)
        watchdog.start()
        try:
            self._process.stdin.write(json.dumps({"op": op, "arguments": arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watchdog.cancel()
        if not line:
            tail = self._log_path.read_text("utf-8", "replace")[-LOG_TAIL_CHARACTERS:]
            raise DriverGone(f"{self.name} gave no answer to {op}: {tail}")
        answer = json.loads(line)
        if "error" in answer:
            raise ClientFailure(**answer["error"])
        return answer["result"]

    def crash(self) -> None:
        """kill -9: the library gets no chance to leave its groups."""
        os.killpg(self._process.pid, signal.SIGKILL)

    def crash_if_running(self) -> None:
        if self._process.poll() is None:
            self.crash()

    def stop(self) -> None:
        if self._process.poll() is None:
            try:
                self._process.communicate(timeout=EXIT_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.crash()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        replication_factor: int = 1,
    ) -> None:
        self.call(
            "create_topic",
            topic=topic,
            partitions=partitions,
            replication_factor=replication_factor,
            configs=dict(configs or {}),
        )

    def produce(
        self, topic: str, records: Sequence[Record], codec: str = "none", idempotent: bool = False
    ) -> list[int]:
        """Produce and wait for all acknowledgements; the offsets, in the order of `records`."""
        wire = [record.to_json() for record in records]
        offsets: list[int] = self.call(
            "produce", topic=topic, records=wire, codec=codec, idempotent=idempotent
        )
        return offsets

    def open_consumer(self, settings: ConsumerSettings) -> Consumer:
        return Consumer(self, self.call("open_consumer", settings=settings.to_json()))

    def delete_topic(self, topic: str) -> None:
        self.call("delete_topic", topic=topic)

    def list_topics(self) -> list[str]:
        topics: list[str] = self.call("list_topics")
        return topics

    def partition_count(self, topic: str) -> int:
        return int(self.call("partition_count", topic=topic))

    def create_partitions(self, topic: str, total: int) -> None:
        self.call("create_partitions", topic=topic, total=total)

    def describe_configs(self, topic: str) -> dict[str, str | None]:
        configs: dict[str, str | None] = self.call("describe_configs", topic=topic)
        return configs

    def alter_config(self, topic: str, name: str, value: str) -> None:
        self.call("alter_config", topic=topic, name=name, value=value)

    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        target = {"topic": topic, "partition": partition, "before_offset": before_offset}
        return int(self.call("delete_records", **target))

    def list_offset(self, topic: str, partition: int, at: str) -> int:
        return int(self.call("list_offset", topic=topic, partition=partition, at=at))

    def list_groups(self) -> list[str]:
        groups: list[str] = self.call("list_groups")
        return groups

    def describe_group(self, group: str) -> GroupDescription:
        return GroupDescription(**self.call("describe_group", group=group))

    def delete_group(self, group: str) -> None:
        self.call("delete_group", group=group)

    def group_offsets(self, group: str) -> dict[TopicPartition, int]:
        listing = self.call("group_offsets", group=group)
        return {(topic, partition): offset for topic, partition, offset in listing}


class Consumer:
    """One consumer inside a driver process."""

    def __init__(self, client: Client, number: int) -> None:
        self._client = client
        self._number = number

    def poll(self, timeout_ms: int = POLL_TIMEOUT_MS) -> list[Received]:
        found = self._client.call("poll", consumer=self._number, timeout_ms=timeout_ms)
        return [Received.from_json(fields) for fields in found]

    def assignment(self) -> set[TopicPartition]:
        found = self._client.call("assignment", consumer=self._number)
        return {(topic, partition) for topic, partition in found}

    def assignments_seen(self) -> int:
        return int(self._client.call("assignments_seen", consumer=self._number))

    def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        """Commit the given offsets, or the position after everything polled."""
        wire = None if offsets is None else [[t, p, o] for (t, p), o in offsets.items()]
        self._client.call("commit", consumer=self._number, offsets=wire)

    def committed(self, topic: str, partition: int) -> int | None:
        where = {"consumer": self._number, "topic": topic, "partition": partition}
        offset: int | None = self._client.call("committed", **where)
        return offset

    def seek(self, topic: str, partition: int, offset: int) -> None:
        where = {"consumer": self._number, "topic": topic, "partition": partition}
        self._client.call("seek", **where, offset=offset)

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        where = {"consumer": self._number, "topic": topic, "partition": partition}
        offset: int | None = self._client.call(
            "offset_for_time", **where, timestamp_ms=timestamp_ms
        )
        return offset

    def close(self) -> None:
        """Leave the group, unless this is a static member."""
        self._client.call("close", consumer=self._number)

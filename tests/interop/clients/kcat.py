"""Driver for kcat, the command-line client: every operation is a kcat process.

kcat writes payload bytes raw into its JSON lines, so lines are read as Latin-1 and turned back.
It has no way to ask for a commit: it commits every `COMMIT_INTERVAL_MS` and when it ends.
"""

from __future__ import annotations

import json
import queue
import re
import signal
import subprocess
import tempfile
import threading
from itertools import groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from confluent_kafka import KafkaError

from ..values import ClientFailure, ConsumerSettings, Received, Record
from .driver_loop import (
    ADMIN_TIMEOUT_S,
    PRODUCE_TIMEOUT_S,
    ConsumerDriver,
    Driver,
    serve,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMIT_INTERVAL_MS = 100
KEY_DELIMITER = b"\x1f"
CLOSE_TIMEOUT_S = 15.0
ERROR_CODES_MAX = 130
DELIVERED = re.compile(r"Message delivered to partition \d+ \(offset (\d+)\)")
PARTITION = re.compile(r"(\S+) \[(\d+)\]")
# kcat reports the broker's errors in librdkafka's words.
CODES_BY_WORDS = {KafkaError(code).str(): code for code in range(1, ERROR_CODES_MAX)}


def _failure_in(text: str) -> ClientFailure:
    code = next((code for words, code in CODES_BY_WORDS.items() if words in text), None)
    return ClientFailure(code, "kcat", text.strip())


def _latin(text: str | None) -> bytes | None:
    return None if text is None else text.encode("latin-1")


def _received(line: str) -> Received:
    fields = json.loads(line)
    pairs = fields.get("headers", [])
    names = (name.encode("latin-1").decode("utf-8") for name in pairs[::2])
    record = Record(
        value=_latin(fields["payload"]),
        key=_latin(fields["key"]),
        headers=tuple(zip(names, map(_latin, pairs[1::2]), strict=True)),
        timestamp_ms=fields["ts"],
        partition=fields["partition"],
    )
    return Received(fields["topic"], fields["offset"], record)


class RunningKcat:
    """A kcat process that consumes; its lines are collected by two threads."""

    def __init__(self, command: list[str]) -> None:
        self._unread: queue.SimpleQueue[Received | ClientFailure] = queue.SimpleQueue()
        self.assignment: set[tuple[str, int]] = set()
        self.assignments_seen = 0
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="latin-1"
        )
        for stream, handle in (
            (self._process.stdout, self._on_output),
            (self._process.stderr, self._on_message),
        ):
            threading.Thread(target=self._follow, args=(stream, handle), daemon=True).start()

    def _follow(self, stream: IO[str], handle: Any) -> None:
        for line in stream:
            handle(line)

    def _on_output(self, line: str) -> None:
        self._unread.put(_received(line))

    def _on_message(self, line: str) -> None:
        print(line, end="", flush=True)
        if "% ERROR" in line:
            self._unread.put(_failure_in(line))
        if " rebalanced" not in line:
            return
        found = {(topic, int(number)) for topic, number in PARTITION.findall(line)}
        if "incremental revoke" in line:
            self.assignment -= found
        elif "incremental assignment" in line:
            self.assignments_seen += 1
            self.assignment |= found
        elif "revoked" in line:
            self.assignment = set()
        else:
            self.assignments_seen += 1
            self.assignment = found

    def take(self, timeout_ms: int) -> list[Received]:
        found: list[Received] = []
        try:
            item = self._unread.get(timeout=timeout_ms / 1000)
            while True:
                if isinstance(item, ClientFailure):
                    raise item
                found.append(item)
                item = self._unread.get_nowait()
        except queue.Empty:
            return found

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(CLOSE_TIMEOUT_S)


class KcatConsumer(ConsumerDriver):
    def __init__(self, bootstrap_servers: str, settings: ConsumerSettings) -> None:
        reset = "error" if settings.offset_reset == "none" else "earliest"
        self._base = ["kcat", "-b", bootstrap_servers, "-J", "-u"]
        self._base += ["-X", f"auto.offset.reset={reset}", "-X", "fetch.wait.max.ms=100"]
        self._settings = settings
        start: int | str = "beginning" if settings.start_offset is None else settings.start_offset
        command = self._group_command() if settings.topics else self._partition_command(start)
        self._running = RunningKcat(command)

    def _group_command(self) -> list[str]:
        settings = self._settings
        cooperative = settings.assignor == "cooperative"
        options = {
            "session.timeout.ms": settings.session_timeout_ms,
            "heartbeat.interval.ms": settings.heartbeat_interval_ms,
            "auto.commit.interval.ms": COMMIT_INTERVAL_MS,
            "partition.assignment.strategy": "cooperative-sticky" if cooperative else "range",
        }
        if settings.instance_id is not None:
            options["group.instance.id"] = settings.instance_id
        arguments = [word for name, value in options.items() for word in ("-X", f"{name}={value}")]
        assert settings.group is not None
        return [*self._base, *arguments, "-G", settings.group, *settings.topics]

    def _partition_command(self, start: int | str) -> list[str]:
        ((topic, partition),) = self._settings.assign
        return [*self._base, "-C", "-t", topic, "-p", str(partition), "-o", str(start)]

    def poll(self, timeout_ms: int) -> list[Received]:
        return self._running.take(timeout_ms)

    def assignment(self) -> list[tuple[str, int]]:
        return list(self._running.assignment)

    def assignments_seen(self) -> int:
        return self._running.assignments_seen

    def commit(self, offsets: dict[tuple[str, int], int] | None) -> None:
        """Nothing to ask for: kcat commits by itself, at the latest when it ends."""
        if offsets is not None:
            raise NotImplementedError("kcat cannot commit chosen offsets")

    def committed(self, topic: str, partition: int) -> int | None:
        raise NotImplementedError("kcat cannot show committed offsets")

    def seek(self, topic: str, partition: int, offset: int) -> None:
        self._running.stop()
        self._running = RunningKcat(self._partition_command(offset))

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        query = ["-Q", "-t", f"{topic}:{partition}:{timestamp_ms}"]
        text = subprocess.check_output(
            [*self._base[:3], *query], text=True, timeout=ADMIN_TIMEOUT_S
        )
        offset = int(text.rsplit(" ", 1)[1])
        return None if offset < 0 else offset

    def close(self) -> None:
        self._running.stop()


class KcatDriver(Driver):
    def failure(self, error: Exception) -> ClientFailure | None:
        return None

    def new_consumer(self, settings: ConsumerSettings) -> ConsumerDriver:
        return KcatConsumer(self.bootstrap_servers, settings)

    def send(
        self, topic: str, records: Sequence[Record], codec: str, idempotent: bool
    ) -> list[int]:
        """One process per run of records that share all that kcat sets once per process."""

        def shared(entry: tuple[int, Record]) -> tuple[object, ...]:
            record = entry[1]
            return record.partition, record.key, record.headers, record.value is None

        options = ["-z", codec, "-X", f"enable.idempotence={str(idempotent).lower()}"]
        offsets: dict[int, int] = {}
        # The sort is stable: the order within a partition stays as it was.
        entries = sorted(enumerate(records), key=lambda entry: entry[1].partition)
        for _, group in groupby(entries, key=shared):
            run = list(group)
            acknowledged = self._send_run(topic, [record for _, record in run], options)
            positions = [position for position, _ in run]
            offsets.update(zip(positions, acknowledged, strict=True))
        return [offsets[position] for position in range(len(records))]

    def _send_run(self, topic: str, run: list[Record], options: list[str]) -> list[int]:
        first = run[0]
        command: list[str | bytes] = ["kcat", "-b", self.bootstrap_servers, "-P", "-vvv", *options]
        command += ["-X", "topic.produce.offset.report=true"]
        command += ["-t", topic, "-p", str(first.partition)]
        if first.key is not None and first.value is not None:
            command += ["-k", first.key]
        for name, value in first.headers:
            command += ["-H", name.encode() + b"=" + (value or b"")]
        with tempfile.TemporaryDirectory() as directory:
            standard_input = b""
            if first.value is None:  # a line that ends after the key is, with -Z, a null value
                command += ["-Z", "-K", KEY_DELIMITER]
                standard_input = ((first.key or b"") + KEY_DELIMITER + b"\n") * len(run)
            for number, record in enumerate(run):
                if record.value is not None:  # a file is one record, whatever bytes it holds
                    path = Path(directory) / str(number)
                    path.write_bytes(record.value)
                    command.append(str(path))
            return self._acknowledged(command, standard_input)

    def _acknowledged(self, command: list[str | bytes], standard_input: bytes) -> list[int]:
        result = subprocess.run(
            command, input=standard_input, stderr=subprocess.PIPE, timeout=PRODUCE_TIMEOUT_S
        )
        text = result.stderr.decode("utf-8", "replace")
        if result.returncode or "Delivery failed" in text:
            raise _failure_in(text)
        return [int(offset) for offset in DELIVERED.findall(text)]


if __name__ == "__main__":
    serve(KcatDriver)

"""Latency as a quiet client sees it: a process of its own, so that the load's Python is not in it.

`python -m soak.probe ADDRESS` writes a record a hundred times a second and reads it back; each line
it prints is a number of seconds, `a` to the acknowledgement and `r` to the reader.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from .clients import ANSWER_SECONDS_MAX, as_bytes, client_settings

if TYPE_CHECKING:
    from .percentiles import LatencyWindow

TOPIC = "probe"
RECORDS_PER_SECOND = 100
TIME = struct.Struct(">d")
ACKNOWLEDGED, READ = "a", "r"


class Probe(threading.Thread):
    """Starts the process and sorts what it prints into two windows."""

    def __init__(
        self, bootstrap_servers: str, acknowledged: LatencyWindow, read: LatencyWindow
    ) -> None:
        super().__init__(name="probe", daemon=True)
        self.failures: list[str] = []
        self._windows = {ACKNOWLEDGED: acknowledged, READ: read}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "soak.probe", bootstrap_servers],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[1],
        )

    def run(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            kind, seconds = line.split()
            self._windows[kind].add(float(seconds))

    def finish(self) -> None:
        if self._process.poll() is not None or not self.is_alive():
            self.failures.append(f"the probe ended by itself with {self._process.returncode}")
        self._process.kill()
        self._process.wait(ANSWER_SECONDS_MAX)
        self.join(ANSWER_SECONDS_MAX)
        assert self._process.stdout is not None
        self._process.stdout.close()


def report(kind: str, seconds: float) -> None:
    # One write per line: two threads report, and a short write to a pipe is never cut in two.
    os.write(sys.stdout.fileno(), b"%s %.6f\n" % (kind.encode(), seconds))


def acknowledged(error: KafkaError | None, message: Message) -> None:
    if error is None:
        report(ACKNOWLEDGED, message.latency() or 0.0)


def read(bootstrap_servers: str) -> None:
    consumer = Consumer(
        client_settings(bootstrap_servers, group_id="probe", enable_auto_commit=False)
    )
    where = TopicPartition(TOPIC, 0)
    _, end_offset = consumer.get_watermark_offsets(where, timeout=ANSWER_SECONDS_MAX)
    consumer.assign([TopicPartition(TOPIC, 0, end_offset)])
    while True:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            sent_s = TIME.unpack(as_bytes(message.value()) or b"")[0]
            report(READ, time.monotonic() - sent_s)


def write(bootstrap_servers: str) -> None:
    producer = Producer(client_settings(bootstrap_servers, linger_ms=0, acks="all"))
    due_s = time.monotonic()
    while True:
        due_s = max(due_s + 1 / RECORDS_PER_SECOND, time.monotonic() - 1.0)
        while (wait_s := due_s - time.monotonic()) > 0:
            producer.poll(wait_s)
        producer.produce(TOPIC, TIME.pack(time.monotonic()), partition=0, on_delivery=acknowledged)


if __name__ == "__main__":
    threading.Thread(target=read, args=(sys.argv[1],), daemon=True).start()
    write(sys.argv[1])

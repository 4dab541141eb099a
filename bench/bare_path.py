"""The bare path: how fast one broker process takes and gives records, and what CPU that costs it.

One librdkafka client against one broker on loopback, page-cache durability. Speeds depend on the
machine; the broker's CPU per million records hardly does.

    python -m bench.bare_path            all of it, about half a minute
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

if TYPE_CHECKING:
    from collections.abc import Callable

START_SECONDS_MAX = 30
QUEUE_MESSAGES_MAX = 1_000_000


class BrokerProcess:
    """A broker of its own process over a temporary directory."""

    def __init__(self, extra: list[str]) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="headrace-bench-")
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "headrace",
                "serve",
                "--data",
                self._directory.name,
                "--listen",
                "kafka://127.0.0.1:0",
                *extra,
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.address = ""
        for line in self._process.stdout:
            if line.startswith("listening kafka://"):
                self.address = line.split("kafka://")[1].strip()
                break
        if not self.address:
            raise SystemExit("the broker did not start; its log is above")

    def cpu_seconds(self) -> float:
        with open(f"/proc/{self._process.pid}/stat", "rb") as stat:
            fields = stat.read().rsplit(b") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_megabytes(self) -> float:
        with open(f"/proc/{self._process.pid}/statm", "rb") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(START_SECONDS_MAX)
        self._directory.cleanup()


def produce(broker: BrokerProcess, topic: str, count: int, size: int, settings: dict) -> float:
    """Send ``count`` records of ``size`` bytes; seconds until the last is acknowledged."""
    producer = Producer(
        {
            "bootstrap.servers": broker.address,
            "acks": "all",
            "queue.buffering.max.messages": QUEUE_MESSAGES_MAX,
            "queue.buffering.max.kbytes": 1_000_000,
            **settings,
        }
    )
    failures: list[object] = []

    def delivered(error: object, _message: object) -> None:
        if error is not None:
            failures.append(error)

    value = os.urandom(size)
    producer.produce(topic, value)
    producer.flush()
    started = time.perf_counter()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, value, on_delivery=delivered if number % 64 == 0 else None)
                break
            except BufferError:
                producer.poll(0.01)
        if number % 256 == 0:
            producer.poll(0)
    producer.flush()
    elapsed = time.perf_counter() - started
    if failures:
        raise SystemExit(f"{len(failures)} records failed: {failures[0]}")
    return elapsed


def consume(broker: BrokerProcess, topic: str, count: int) -> float:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "bench",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            # Otherwise the client stops fetching for a second whenever it has 100,000 records.
            "queued.min.messages": QUEUE_MESSAGES_MAX,
            "queued.max.messages.kbytes": 500_000,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    started = time.perf_counter()
    taken = 0
    while taken < count:
        taken += len(consumer.consume(10_000, timeout=1.0))
    elapsed = time.perf_counter() - started
    consumer.close()
    return elapsed


def measured(
    broker: BrokerProcess, work: Callable[[], float], count: int
) -> tuple[float, float, float]:
    """(records per second, broker CPU seconds per million records, seconds)"""
    cpu = broker.cpu_seconds()
    elapsed = work()
    return count / elapsed, (broker.cpu_seconds() - cpu) / count * 1e6, elapsed


def synchronous(broker: BrokerProcess, topic: str, count: int) -> list[float]:
    producer = Producer({"bootstrap.servers": broker.address, "acks": "all", "linger.ms": 0})
    times = []
    for _ in range(count):
        started = time.perf_counter()
        producer.produce(topic, b"x" * 100)
        producer.flush()
        times.append(time.perf_counter() - started)
    return sorted(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--set", action="append", default=[], help="broker setting NAME=VALUE")
    parser.add_argument("--scale", type=float, default=1.0, help="multiply the number of records")
    options = parser.parse_args()
    broker = BrokerProcess([part for pair in options.set for part in ("--set", pair)])
    try:
        run(broker, options.scale)
    finally:
        broker.stop()


def run(broker: BrokerProcess, scale: float) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address})
    names = ["small", "large", "single", "sync"]
    for future in admin.create_topics([NewTopic(n, 1, 1) for n in names]).values():
        future.result()
    print(f"idle resident memory {broker.resident_megabytes():.0f} MB")
    single = {"batch.num.messages": 1, "linger.ms": 0}
    plan = [
        ("one record per request", "single", int(200_000 * scale), 100, single),
        ("produce 100 B, linger 5 ms", "small", int(2_000_000 * scale), 100, {"linger.ms": 5}),
        ("produce 1,000 B, linger 5 ms", "large", int(500_000 * scale), 1000, {"linger.ms": 5}),
    ]
    for label, topic, count, size, settings in plan:
        rate, cpu, seconds = measured(
            broker, lambda t=topic, c=count, z=size, s=settings: produce(broker, t, c, z, s), count
        )
        print(
            f"{label:30} {rate:12,.0f} records/s {rate * size / 1e6:8,.0f} MB/s   "
            f"broker CPU {cpu:6.3f} s per million   ({seconds:.1f} s)"
        )
    for label, topic, count, size in [
        ("consume 100 B", "small", int(2_000_000 * scale), 100),
        ("consume 1,000 B", "large", int(500_000 * scale), 1000),
    ]:
        rate, cpu, seconds = measured(broker, lambda t=topic, c=count: consume(broker, t, c), count)
        print(
            f"{label:30} {rate:12,.0f} records/s {rate * size / 1e6:8,.0f} MB/s   "
            f"broker CPU {cpu:6.3f} s per million   ({seconds:.1f} s)"
        )
    times = synchronous(broker, "sync", int(5000 * scale))
    points = [times[int(len(times) * q)] * 1e6 for q in (0.5, 0.99, 0.999)]
    print("synchronous p50 / p99 / p99.9  " + " / ".join(f"{p:,.0f}" for p in points) + " us")
    print(f"loaded resident memory {broker.resident_megabytes():.0f} MB")


if __name__ == "__main__":
    main()

"""Records round robin over a thousand partitions, by one librdkafka producer.

The client sends one request per partition, however little there is for it: with 5 ms of linger a
request carries a few records, and what counts is the broker's cost of a request.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import Producer

from bench.figures import PAGE_CACHE, Figure
from bench.load.apart import apart
from bench.load.topics import ensure_ready_topic
from tests.process.resources import cpu_seconds

if TYPE_CHECKING:
    from bench.peers import Peer

TOPIC = "round-robin"
PARTITIONS = 1_000
RECORDS = 1_000_000
WARM_RECORDS = 50_000
LINGER_MS = 5
VALUE = b"x" * 100
QUEUE_MESSAGES_MAX = 1_000_000
QUEUE_KILOBYTES_MAX = 1_000_000
POLL_EVERY_RECORDS = 1_000
FULL_QUEUE_POLL_SECONDS = 0.01
SEND_SECONDS_MAX = 300.0
MILLION = 1_000_000


class RoundRobinProducer:
    """A producer that gives every partition its record in turn."""

    def __init__(self, address: str, topic: str, partitions: int) -> None:
        self._topic = topic
        self._partitions = partitions
        self._failures: list[object] = []
        self._producer = Producer(
            {
                "bootstrap.servers": address,
                "acks": "all",
                "linger.ms": LINGER_MS,
                "queue.buffering.max.messages": QUEUE_MESSAGES_MAX,
                "queue.buffering.max.kbytes": QUEUE_KILOBYTES_MAX,
                # A call into Python per record would be the most expensive part of all.
                "delivery.report.only.error": True,
                "on_delivery": self._failed,
            }
        )

    def send(self, count: int) -> float:
        """Seconds from the first record to the last acknowledgement."""
        started_s = time.perf_counter()
        deadline_s = started_s + SEND_SECONDS_MAX
        for number in range(count):
            if number % POLL_EVERY_RECORDS == 0:
                self._producer.poll(0)
            self._send_one(number % self._partitions, deadline_s)
        unsent = self._producer.flush(max(0.0, deadline_s - time.perf_counter()))
        if unsent or self._failures:
            raise RuntimeError(
                f"{unsent} records not sent, {len(self._failures)} failed: {self._failures[:1]}"
            )
        return time.perf_counter() - started_s

    def _send_one(self, partition: int, deadline_s: float) -> None:
        while True:
            try:
                self._producer.produce(self._topic, VALUE, partition=partition)
                return
            except BufferError:
                if time.perf_counter() > deadline_s:
                    raise TimeoutError("the producer's queue stays full") from None
                self._producer.poll(FULL_QUEUE_POLL_SECONDS)

    def _failed(self, error: object, _message: object) -> None:
        if error is not None:
            self._failures.append(error)


def send_all(address: str, pid: int, warm_count: int, count: int) -> tuple[float, float]:
    """(seconds, CPU seconds of the broker) for the records after the warm-up"""
    producer = RoundRobinProducer(address, TOPIC, PARTITIONS)
    producer.send(warm_count)
    cpu_before = cpu_seconds(pid)
    seconds = producer.send(count)
    return seconds, cpu_seconds(pid) - cpu_before


@dataclass(frozen=True)
class RoundRobin:
    """A million records, a thousand for each partition."""

    name: str = "round-robin-1000p"
    title: str = "1,000,000 records over 1,000 partitions"
    durability: str = PAGE_CACHE
    figures: tuple[Figure, ...] = (
        Figure("rate", "records/s", "higher", 3.0),
        Figure("broker CPU", "s per million", "lower"),
    )
    rounds_max: int = 2
    writes_bulk: bool = True
    is_quick: bool = False

    def run(self, peer: Peer, scale: float) -> dict[str, float]:
        ensure_ready_topic(peer, TOPIC, PARTITIONS)
        warm_count = max(PARTITIONS, int(WARM_RECORDS * scale))
        count = max(PARTITIONS, int(RECORDS * scale))
        seconds, cpu = apart(send_all, peer.bootstrap_servers, peer.pid, warm_count, count)
        return {"rate": count / seconds, "broker CPU": cpu / count * MILLION}

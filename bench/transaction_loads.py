"""The loads of transactional librdkafka producers; `bench.clients` runs them in their own process.

Each producer has a thread of its own, which mostly waits inside librdkafka.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer

from bench.percentiles import P50, P99, percentiles

if TYPE_CHECKING:
    from collections.abc import Callable

CALL_SECONDS_MAX = 60.0
MILLISECONDS = 1_000.0
QUEUE_MESSAGES_MAX = 1_000_000


def transactional_producer(bootstrap_servers: str, transactional_id: str, **more: Any) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "transactional.id": transactional_id,
            "queue.buffering.max.messages": QUEUE_MESSAGES_MAX,
            **more,
        }
    )
    producer.init_transactions(CALL_SECONDS_MAX)
    return producer


def transactions(
    bootstrap_servers: str,
    topic: str,
    partitions: int,
    producers: int,
    records: int,
    size: int,
    warm_seconds: float,
    seconds: float,
    label: str,
) -> dict[str, float]:
    """Producers that commit one transaction after the other; per second, and milliseconds."""
    opened = [
        transactional_producer(bootstrap_servers, f"{label}-{number}", **{"linger.ms": 0})
        for number in range(producers)
    ]
    value = b"x" * size
    from_s = time.perf_counter() + warm_seconds
    until_s = from_s + seconds
    times_s: list[float] = []
    failures: list[BaseException] = []

    def one_after_the_other(number: int, producer: Producer) -> None:
        begun_s = time.perf_counter()
        while begun_s < until_s:
            producer.begin_transaction()
            for _ in range(records):
                producer.produce(topic, value, partition=number % partitions)
            producer.commit_transaction(CALL_SECONDS_MAX)
            ended_s = time.perf_counter()
            if begun_s >= from_s and ended_s <= until_s:
                times_s.append(ended_s - begun_s)
            begun_s = ended_s

    def guarded(number: int, producer: Producer) -> None:
        try:
            one_after_the_other(number, producer)
        except BaseException as failure:
            failures.append(failure)

    _run_together(guarded, opened)
    if failures:
        raise failures[0]
    shares_s = percentiles(times_s)
    return {
        "rate": len(times_s) / seconds,
        P50: shares_s[P50] * MILLISECONDS,
        P99: shares_s[P99] * MILLISECONDS,
    }


def _run_together(work: Callable[[int, Producer], None], producers: list[Producer]) -> None:
    threads = [
        threading.Thread(target=work, args=(number, producer))
        for number, producer in enumerate(producers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def fill_with_transactions(
    bootstrap_servers: str,
    topic: str,
    count: int,
    size: int,
    records: int,
    abort_every: int,
    label: str,
) -> dict[str, float]:
    """Transactions of so many records until `count` are committed; some others are aborted."""
    producer = transactional_producer(bootstrap_servers, label, **{"linger.ms": 5})
    value = b"x" * size
    committed = number = 0
    while committed < count:
        number += 1
        wanted = min(records, count - committed)
        producer.begin_transaction()
        for _ in range(wanted):
            producer.produce(topic, value, partition=0)
        if number % abort_every == 0:
            producer.flush(CALL_SECONDS_MAX)  # what is not sent needs no hiding
            producer.abort_transaction(CALL_SECONDS_MAX)
        else:
            producer.commit_transaction(CALL_SECONDS_MAX)
            committed += wanted
    return {"transactions": float(number)}

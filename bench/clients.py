"""The loads of one client, nearly all of librdkafka, each run in a process of its own.

A client that shared the interpreter with the bench would be measured together with it. The clock of
`time.perf_counter_ns` is the same for all processes of a machine, so a time written by a producer
can be compared by a consumer. The broker's CPU time is read around the load alone, without the
client's start.

    python -m bench.clients LOAD '{"bootstrap_servers": ...}'
"""

from __future__ import annotations

import json
import os
import random
import struct
import sys
import time
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from bench.load.transactions import light_transactions
from bench.percentiles import percentiles
from bench.transaction_loads import fill_with_transactions, transactions
from tests.process.resources import cpu_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

READY_LINE = "ready"
QUEUE_MESSAGES_MAX = 1_000_000
QUEUE_KILOBYTES_MAX = 1_000_000
PRODUCE_CALL_RECORDS = 1_000
CONSUME_CALL_RECORDS = 10_000
SILENCE_SECONDS_MAX = 30.0
FLUSH_SECONDS_MAX = 300.0
TEXT_VALUES = 1_000
TEXT_SEED = 20_240_131
WORDS = (
    *("order", "customer", "accepted", "delivered", "warehouse", "invoice", "pending", "north"),
    *("south", "amount", "currency", "total", "returned", "express", "standard", "priority"),
)
TIMESTAMP = struct.Struct(">q")


def random_values(size: int) -> list[bytes]:
    """Bytes that no codec can make smaller."""
    return [os.urandom(size)]


def text_values(size: int) -> list[bytes]:
    """JSON-like lines, the same in every run, which shrink about as events of real systems do."""
    chance = random.Random(TEXT_SEED)

    def value(number: int) -> bytes:
        text = f'{{"id":{number},'
        while len(text) < size:
            text += f'"{chance.choice(WORDS)}":"{chance.choice(WORDS)}-{chance.getrandbits(32):x}",'
        return text[: size - 1].encode() + b"}"

    return [value(number) for number in range(TEXT_VALUES)]


VALUES = {"random": random_values, "text": text_values}


def new_producer(bootstrap_servers: str, settings: Mapping[str, Any]) -> Producer:
    return Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "acks": "all",
            "queue.buffering.max.messages": QUEUE_MESSAGES_MAX,
            "queue.buffering.max.kbytes": QUEUE_KILOBYTES_MAX,
            **settings,
        }
    )


def new_consumer(bootstrap_servers: str, settings: Mapping[str, Any] | None = None) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "bench",
            "enable.auto.commit": False,
            # Otherwise the client stops fetching for a second whenever it has 100,000 records.
            "queued.min.messages": QUEUE_MESSAGES_MAX,
            "queued.max.messages.kbytes": 500_000,
            **(settings or {}),
        }
    )


def connect(producer: Producer, topic: str, partitions: int = 1) -> None:
    """One record to every partition, so that neither connecting nor a first file is measured."""
    for partition in range(partitions):
        producer.produce(topic, b"first", partition=partition)
    flush(producer)


def flush(producer: Producer) -> None:
    unsent = producer.flush(FLUSH_SECONDS_MAX)
    if unsent:
        raise TimeoutError(f"{unsent} records are not acknowledged")


def produce(
    bootstrap_servers: str,
    pid: int,
    topic: str,
    count: int,
    size: int,
    *,
    partitions: int = 1,
    settings: Mapping[str, Any],
    values: str = "random",
) -> dict[str, float]:
    """Send as fast as it goes, until the last record is acknowledged."""
    producer = new_producer(bootstrap_servers, settings)
    connect(producer, topic, partitions)
    pool = VALUES[values](size)
    batch = [{"value": pool[number % len(pool)]} for number in range(PRODUCE_CALL_RECORDS)]
    cpu, started = cpu_seconds(pid), time.perf_counter()
    left = count
    while left:
        wanted = min(left, PRODUCE_CALL_RECORDS)
        queued = producer.produce_batch(topic, batch[:wanted])
        left -= queued
        producer.poll(0 if queued == wanted else 0.005)
    flush(producer)
    return {"seconds": time.perf_counter() - started, "cpu_seconds": cpu_seconds(pid) - cpu}


def consume(
    bootstrap_servers: str,
    pid: int,
    topic: str,
    count: int,
    *,
    partitions: int = 1,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, float]:
    """Read from the beginning, as fast as it goes."""
    consumer = new_consumer(bootstrap_servers, settings)
    cpu, started = cpu_seconds(pid), time.perf_counter()
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    taken = 0
    while taken < count:
        messages = consumer.consume(min(CONSUME_CALL_RECORDS, count - taken), SILENCE_SECONDS_MAX)
        if not messages:
            raise TimeoutError(f"{taken} of {count} records, then silence")
        taken += len(messages)
    seconds, used = time.perf_counter() - started, cpu_seconds(pid) - cpu
    consumer.close()
    return {"seconds": seconds, "cpu_seconds": used}


def synchronous(
    bootstrap_servers: str, topic: str, count: int, size: int, skipped: int
) -> dict[str, float]:
    """Send one record, wait for its acknowledgement, send the next; microseconds."""
    producer = new_producer(bootstrap_servers, {"linger.ms": 0})
    connect(producer, topic)
    value = os.urandom(size)
    times_us = []
    for _ in range(count + skipped):
        started = time.perf_counter_ns()
        producer.produce(topic, value)
        producer.flush()
        times_us.append((time.perf_counter_ns() - started) / 1e3)
    return percentiles(times_us[skipped:])


def paced_produce(
    bootstrap_servers: str, topic: str, count: int, size: int, rate: int, burst: int = 1
) -> dict[str, float]:
    """Send at a steady rate; each value begins with the time at which it was handed over.

    `produce` never waits for the broker, so a slow broker does not slow the sending. The producer
    sleeps until the next `burst` of records is due; what became due while it slept goes with it.
    """
    producer = new_producer(bootstrap_servers, {"linger.ms": 0})
    padding = os.urandom(size - TIMESTAMP.size)
    interval_ns = 1_000_000_000 * burst // rate
    sent, start_ns = 0, time.perf_counter_ns()
    while sent < count:
        early_ns = start_ns + sent // burst * interval_ns - time.perf_counter_ns()
        if early_ns > 0:
            producer.poll(0)
            time.sleep(early_ns / 1e9)
            continue
        for _ in range(min(burst, count - sent)):
            producer.produce(topic, TIMESTAMP.pack(time.perf_counter_ns()) + padding)
        sent += burst
    seconds = (time.perf_counter_ns() - start_ns) / 1e9
    flush(producer)
    return {"rate": count / seconds}


def paced_consume(bootstrap_servers: str, topic: str, count: int, skipped: int) -> dict[str, float]:
    """How long each record was on its way, without the first ones; milliseconds."""
    consumer = new_consumer(bootstrap_servers)
    consumer.assign([TopicPartition(topic, 0, 0)])
    if consumer.poll(0.5) is not None:
        raise RuntimeError(f"{topic} is not empty")
    print(READY_LINE, flush=True)
    times_ms: list[float] = []
    for _ in range(count + skipped):
        message = consumer.poll(SILENCE_SECONDS_MAX)
        now_ns = time.perf_counter_ns()
        if message is None:
            raise TimeoutError(f"{len(times_ms)} of {count + skipped} records, then silence")
        if message.error() is not None:
            raise KafkaException(message.error())
        value = message.value()
        assert value is not None
        times_ms.append((now_ns - TIMESTAMP.unpack_from(value)[0]) / 1e6)
    consumer.close()
    return percentiles(times_ms[skipped:])


LOADS: dict[str, Callable[..., dict[str, float]]] = {
    load.__name__: load
    for load in (
        produce,
        consume,
        synchronous,
        paced_produce,
        paced_consume,
        transactions,
        fill_with_transactions,
        light_transactions,
    )
}


def main() -> None:
    load, arguments = sys.argv[1], json.loads(sys.argv[2])
    print(json.dumps(LOADS[load](**arguments)), flush=True)


if __name__ == "__main__":
    main()

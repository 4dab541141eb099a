"""What the clients themselves can do: `python -m bench.client_ceiling`.

The transactional loads of the bench on brokers that do not do their work. For librdkafka it is the
one that it brings along for its own tests: written in C, inside of the client. Kafka's Java client
does not get on with that one (it takes a part of its first answer for twenty minutes of
throttling), so it has one that answers from a tin (`bench.load.canned_broker`). What comes out is a
ceiling for the bars of transactions with this client.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from confluent_kafka import Producer
from rich.console import Console
from rich.table import Table

from bench.java_tools import transactions_with_java
from bench.load.canned_broker import canned_broker
from bench.peers import kafka_missing
from bench.percentiles import P50, P99
from bench.transaction_loads import transactions
from bench.work.transactions import JAVA_WARM_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.work.throughput import Client

TOPIC = "ceiling"
PARTITIONS = 4
"""As many as librdkafka's broker gives to a topic that nobody made."""
VALUE_BYTES = 100
WARM_SECONDS, SECONDS = 2.0, 8.0
CALL_SECONDS_MAX = 30.0
ERRORS_ONLY = 3
SHAPES = tuple((records, producers) for producers in (1, 16) for records in (1, 100))


@contextmanager
def mock_broker() -> Iterator[str]:
    """Its address; it lives as long as the client that started it."""
    owner = Producer({"test.mock.num.brokers": 1, "log_level": ERRORS_ONLY})
    brokers = owner.list_topics(timeout=CALL_SECONDS_MAX).brokers
    yield ",".join(f"{one.host}:{one.port}" for one in brokers.values())
    del owner


def measured(records: int, producers: int, client: Client = "librdkafka") -> dict[str, float]:
    is_java = client == "java"
    run = transactions_with_java if is_java else transactions
    with canned_broker(TOPIC, PARTITIONS) if is_java else mock_broker() as address:
        return run(
            bootstrap_servers=address,
            topic=TOPIC,
            partitions=PARTITIONS,
            producers=producers,
            records=records,
            size=VALUE_BYTES,
            warm_seconds=JAVA_WARM_SECONDS if is_java else WARM_SECONDS,
            seconds=SECONDS,
            label=f"ceiling-{records}-{producers}",
        )


def main() -> None:
    table = Table(title="clients on brokers that do nothing")
    for heading in ("client", "records", "producers", "transactions/s", "p50 ms", "p99 ms"):
        table.add_column(heading, justify="right")
    clients: tuple[Client, ...] = ("librdkafka",) if kafka_missing() else ("librdkafka", "java")
    for client in clients:
        for records, producers in SHAPES:
            found = measured(records, producers, client)
            row = (f"{found['rate']:,.0f}", f"{found[P50]:.2f}", f"{found[P99]:.2f}")
            table.add_row(client, str(records), str(producers), *row)
    Console().print(table)


if __name__ == "__main__":
    main()

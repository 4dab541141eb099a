"""What librdkafka itself can do: `python -m bench.client_ceiling`.

The load of `bench.transaction_loads` on the broker that librdkafka brings along for its own tests.
That one is written in C, keeps nothing, and runs inside of the client: a broker that does its work
cannot be much nearer. What comes out is a ceiling for the bars of transactions with this client.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from confluent_kafka import Producer
from rich.console import Console
from rich.table import Table

from bench.percentiles import P50, P99
from bench.transaction_loads import transactions

if TYPE_CHECKING:
    from collections.abc import Iterator

TOPIC = "ceiling"
PARTITIONS = 4
"""As many as that broker gives to a topic that nobody made."""
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


def measured(records: int, producers: int) -> dict[str, float]:
    with mock_broker() as address:
        label = f"ceiling-{records}-{producers}"
        return transactions(
            address,
            TOPIC,
            PARTITIONS,
            producers,
            records,
            VALUE_BYTES,
            WARM_SECONDS,
            SECONDS,
            label,
        )


def main() -> None:
    table = Table(title="librdkafka on its own broker in C")
    for heading in ("records", "producers", "transactions/s", "p50 ms", "p99 ms"):
        table.add_column(heading, justify="right")
    for records, producers in SHAPES:
        found = measured(records, producers)
        row = (f"{found['rate']:,.0f}", f"{found[P50]:.2f}", f"{found[P99]:.2f}")
        table.add_row(str(records), str(producers), *row)
    Console().print(table)


if __name__ == "__main__":
    main()

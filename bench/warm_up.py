"""Warm a broker: all kinds of load in turn for a given time, so that the JVM has compiled them.

A cold Kafka is three to five times slower than a warm one; both brokers get the same warm-up.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bench.client_process import run_client
from bench.topics import fresh_topic

if TYPE_CHECKING:
    from bench.peers import Peer

SECONDS_FULL = 45.0
SECONDS_QUICK = 20.0
PARTITIONS = 2
TRANSACTIONS_SECONDS = 3.0
CODECS = ("lz4", "zstd", "snappy", "gzip")


def warm_up(peer: Peer, seconds: float) -> float:
    """Load of all kinds until the time is over; the seconds that it took."""
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        with fresh_topic(peer, "warm-up", PARTITIONS) as topic:
            _one_lap(peer, topic, started + seconds)
    return time.monotonic() - started


def _one_lap(peer: Peer, topic: str, deadline_s: float) -> None:
    client = {"bootstrap_servers": peer.bootstrap_servers, "topic": topic}
    measured = {**client, "pid": peer.pid}
    single = {"batch.num.messages": 1, "linger.ms": 0}
    batches = {"linger.ms": 5}
    laps = [
        ("produce", {**measured, "count": 500_000, "size": 100, "settings": batches}),
        ("produce", {**measured, "count": 10_000, "size": 100, "settings": single}),
        ("synchronous", {**client, "count": 2_000, "size": 100, "skipped": 0}),
        ("produce", {**measured, "count": 200_000, "size": 1_000, "settings": batches}),
        ("consume", {**measured, "count": 700_000, "partitions": PARTITIONS}),
        ("paced_produce", {**client, "count": 10_000, "size": 100, "rate": 10_000}),
        *(
            (
                "produce",
                {
                    **measured,
                    **{"count": 20_000, "size": 1_000, "values": "text"},
                    "settings": {**batches, "compression.type": codec},
                },
            )
            for codec in CODECS
        ),
        *(
            (
                "light_transactions",
                {
                    **measured,
                    **{"partitions": PARTITIONS, "producers": 8, "records": 10, "size": 100},
                    **{"warm_seconds": 0.0, "seconds": TRANSACTIONS_SECONDS},
                    **{"label": f"warm-up-v{generation}", "generation": generation},
                },
            )
            for generation in (1, 2)
        ),
    ]
    for load, arguments in laps:
        if time.monotonic() < deadline_s:
            run_client(load, **arguments)

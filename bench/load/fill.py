"""Put gigabytes into a topic quickly: batches of 1 MB, made once, over several connections."""

from __future__ import annotations

import os

from .closed_loop import Load, all_partitions, run_load
from .frames import ProduceFrames, batch_of

VALUE_BYTES = 65_536
BATCH_BYTES_MAX = 983_040
"""Kafka takes batches up to 1,048,588 bytes."""
CONNECTIONS = 4
FILL_SECONDS_MAX = 600.0


def fill(address: str, topic: str, partitions: int, size_bytes: int) -> float:
    """Spread `size_bytes` evenly over all partitions; gives the seconds it took."""
    batch_bytes, rounds = plan(partitions, size_bytes)
    if not rounds:
        return 0.0
    value = os.urandom(min(VALUE_BYTES, batch_bytes))
    batch = batch_of(value, batch_bytes // len(value))
    load = Load(
        all_partitions(ProduceFrames(topic, batch), partitions),
        CONNECTIONS,
        FILL_SECONDS_MAX,
        requests_max=rounds * partitions,
    )
    outcome = run_load(address, load)
    if outcome.requests < load.requests_max:
        raise TimeoutError(f"{outcome.requests} of {load.requests_max} batches were taken")
    return outcome.seconds


def plan(partitions: int, size_bytes: int) -> tuple[int, int]:
    """(bytes in a batch, batches per partition)"""
    share = size_bytes // partitions
    if not share:
        return 0, 0
    rounds = -(-share // BATCH_BYTES_MAX)
    return share // rounds, rounds

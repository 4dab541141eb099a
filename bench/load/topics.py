"""Topics for raw clients, which look nothing up: made, and waited for until they take records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.load.closed_loop import Load, all_partitions, run_load
from bench.load.frames import ProduceFrames, batch_of
from bench.topics import create_topic, has_topic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.peers import Peer

PARTITIONS_PER_CALL_MAX = 1_000
"""Kafka refuses calls for ten thousand (POLICY_VIOLATION)."""
TOUCH_CONNECTIONS = 8
READY_SECONDS_MAX = 120.0


def touch(
    peer: Peer, topic: str, partitions: int, *, seconds_max: float = READY_SECONDS_MAX
) -> None:
    """One record to every partition: the first makes files, any gives a recovery work to do."""
    frames = ProduceFrames(topic, batch_of(b"touched"))
    load = Load(
        all_partitions(frames, partitions), TOUCH_CONNECTIONS, seconds_max, requests_max=partitions
    )
    taken = run_load(peer.bootstrap_servers, load).requests
    if taken < partitions:
        raise TimeoutError(f"{taken} of {partitions} partitions of {topic} took a record")


def create_ready_topic(
    peer: Peer,
    name: str,
    partitions: int,
    settings: Mapping[str, str] | None = None,
    *,
    seconds_max: float = READY_SECONDS_MAX,
) -> None:
    """Make the topic and return when every partition has taken its first record."""
    if partitions > PARTITIONS_PER_CALL_MAX:
        raise ValueError(f"{partitions} partitions in one call: at most {PARTITIONS_PER_CALL_MAX}")
    if seconds_max <= 0:
        raise TimeoutError(f"no time left to make topic {name}")
    create_topic(peer, name, partitions, settings)
    touch(peer, name, partitions, seconds_max=seconds_max)


def ensure_ready_topic(
    peer: Peer, name: str, partitions: int, settings: Mapping[str, str] | None = None
) -> None:
    """Make the topic unless an earlier round of the same work has made it."""
    if not has_topic(peer, name):
        create_ready_topic(peer, name, partitions, settings)

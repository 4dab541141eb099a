"""Consumer groups: how long twenty members take to start, and to settle after a change.

Classic protocol, librdkafka, range assignor, `group.initial.rebalance.delay.ms=0` at both brokers,
a heartbeat every 100 ms. A time ends with the last change of anybody's assignment, when every
partition has one owner. The killed member is missed after its session timeout of 6 s, which is
taken off: what remains is the broker's and the other members' part.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from bench.figures import PAGE_CACHE, Figure
from bench.load.members import SESSION_TIMEOUT_MS, SETTLED_SECONDS_MAX, Membership, member_process
from bench.load.topics import create_ready_topic

if TYPE_CHECKING:
    from bench.peers import PeerFactory

SETTINGS = {"group.initial.rebalance.delay.ms": "0"}
TOPIC = "groups"
PARTITIONS = 60
MEMBERS = 20
WARM_MEMBERS = 5
REPETITIONS = 3
MILLISECONDS = 1_000.0
ONE = "one member starts"
START = "all members start"
LEAVE = "one leaves"
JOIN = "one joins"
KILLED = "one is killed, beyond its session timeout"


def once(address: str, group: str, members: int) -> dict[str, float]:
    """Start, leave and join: milliseconds each."""
    membership = Membership(address, group, TOPIC, PARTITIONS)
    times: dict[str, float] = {}
    with ThreadPoolExecutor(1) as executor:
        try:
            started_s = time.perf_counter()
            membership.join(members)
            times[START] = membership.seconds_to_settle(from_s=started_s) * MILLISECONDS
            started_s = time.perf_counter()
            left = membership.leave(executor)
            times[LEAVE] = membership.seconds_to_settle(from_s=started_s) * MILLISECONDS
            left.result(SETTLED_SECONDS_MAX)
            started_s = time.perf_counter()
            membership.join(1)
            times[JOIN] = membership.seconds_to_settle(from_s=started_s) * MILLISECONDS
        finally:
            membership.close()
    return times


def single(address: str, group: str) -> float:
    """Milliseconds until the only member of a new group has everything."""
    membership = Membership(address, group, TOPIC, PARTITIONS)
    try:
        started_s = time.perf_counter()
        membership.join(1)
        return membership.seconds_to_settle(from_s=started_s) * MILLISECONDS
    finally:
        membership.close()


def killed(address: str, group: str, members: int) -> float:
    """Milliseconds from kill -9 of one of the members, less the session timeout."""
    membership = Membership(address, group, TOPIC, PARTITIONS)
    with (
        ThreadPoolExecutor(1) as executor,
        member_process(address, group, TOPIC) as child,
    ):
        try:
            joined_s = time.perf_counter()
            membership.join(members - 1)
            membership.poll_until(executor, child)
            membership.seconds_to_settle(from_s=joined_s, others=1)
            killed_s = time.perf_counter()
            child.kill()
            settled_ms = membership.seconds_to_settle(from_s=killed_s) * MILLISECONDS
            return settled_ms - SESSION_TIMEOUT_MS
        finally:
            membership.close()


@dataclass(frozen=True)
class GroupTimes:
    """Medians of several groups on one broker that has seen a group before."""

    name: str = "groups-20"
    title: str = "Consumer group of 20 members, 60 partitions"
    durability: str = PAGE_CACHE
    figures: tuple[Figure, ...] = (
        Figure(ONE, "ms", "lower"),
        Figure(START, "ms", "lower"),
        Figure(LEAVE, "ms", "lower"),
        Figure(JOIN, "ms", "lower"),
        Figure(KILLED, "ms", "lower"),
    )
    rounds_max: int = 1
    is_quick: bool = False

    def run(self, factory: PeerFactory, scale: float) -> dict[str, float]:
        repetitions = max(1, round(REPETITIONS * scale))
        with factory.started(SETTINGS) as peer:
            address = peer.bootstrap_servers
            create_ready_topic(peer, TOPIC, PARTITIONS)
            once(address, "warm", WARM_MEMBERS)
            alone = [single(address, f"alone-{n}") for n in range(repetitions)]
            many = [once(address, f"many-{n}", MEMBERS) for n in range(repetitions)]
            return {
                ONE: median(alone),
                **{name: median(times[name] for times in many) for name in (START, LEAVE, JOIN)},
                KILLED: killed(address, "killed", MEMBERS),
            }

"""Server-side assignors of the consumer protocol (KIP-848): who should own which partition.

An assignor is a pure function of the members' subscriptions, the partition counts and the previous
target. It never asks who owns a partition right now: handing over is reconciliation's business.
Equal input gives equal output: everything is taken in sorted order.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.topic import TopicId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

BALANCE_PASSES_MAX = 16
"""Passes over all topics that even out loads; more would only polish lopsided subscriptions."""

Assignment = dict[TopicId, frozenset[int]]
"""The partitions of one member by topic; topics without a partition are left out."""


class AssignmentMember(NamedTuple):
    """What an assignor knows of a member."""

    topics: frozenset[TopicId]
    """The subscribed topics that exist."""
    target: Mapping[TopicId, frozenset[int]]
    """What the previous target assignment gave to it."""
    instance_id: str | None = None


def assign_uniform(
    members: Mapping[str, AssignmentMember], partition_counts: Mapping[TopicId, int]
) -> dict[str, Assignment]:
    """Even numbers of partitions first, then as few moves as possible."""
    if not members:
        return {}
    kept = _kept_partitions(members, partition_counts)
    subscriptions = {member.topics for member in members.values()}
    if len(subscriptions) == 1:
        (topics,) = subscriptions
        return _assign_alike(kept, sorted(topics), partition_counts)
    return _assign_unlike(members, kept, partition_counts)


def assign_range(
    members: Mapping[str, AssignmentMember], partition_counts: Mapping[TopicId, int]
) -> dict[str, Assignment]:
    """Each topic cut into contiguous ranges in one order of members.

    Members with equal subscriptions get the same partition numbers of topics with equal counts, so
    that streams can be joined. Static members come first, by instance id: they keep their place in
    the order, and with it their range, over restarts.
    """
    order = sorted(members, key=lambda member_id: _range_order(member_id, members[member_id]))
    subscribers: dict[TopicId, list[str]] = {}
    for member_id in order:
        for topic_id in members[member_id].topics:
            subscribers.setdefault(topic_id, []).append(member_id)
    assigned: dict[str, Assignment] = {member_id: {} for member_id in order}
    for topic_id in sorted(subscribers):
        quota, extra = divmod(partition_counts[topic_id], len(subscribers[topic_id]))
        start = 0
        for index, member_id in enumerate(subscribers[topic_id]):
            end = start + quota + (index < extra)
            if end > start:
                assigned[member_id][topic_id] = frozenset(range(start, end))
            start = end
    return assigned


ASSIGNORS: dict[
    str, Callable[[Mapping[str, AssignmentMember], Mapping[TopicId, int]], dict[str, Assignment]]
] = {"uniform": assign_uniform, "range": assign_range}
"""By the name that clients ask for and configuration lists."""


def _range_order(member_id: str, member: AssignmentMember) -> tuple[bool, str]:
    if member.instance_id is None:
        return True, member_id
    return False, member.instance_id


_Held = dict[TopicId, list[int]]


def _kept_partitions(
    members: Mapping[str, AssignmentMember], partition_counts: Mapping[TopicId, int]
) -> dict[str, _Held]:
    """The previous target as far as it still makes sense; one member at most keeps a partition."""
    kept: dict[str, _Held] = {}
    taken: dict[TopicId, set[int]] = {}
    for member_id in sorted(members):
        member = members[member_id]
        held: _Held = {}
        for topic_id in sorted(member.target.keys() & member.topics):
            count = partition_counts[topic_id]
            owned = taken.setdefault(topic_id, set())
            partitions = [p for p in sorted(member.target[topic_id] - owned) if p < count]
            if partitions:
                owned.update(partitions)
                held[topic_id] = partitions
        kept[member_id] = held
    return kept


def _free_partitions(
    kept: Mapping[str, _Held], topics: Iterable[TopicId], partition_counts: Mapping[TopicId, int]
) -> dict[TopicId, list[int]]:
    taken: dict[TopicId, set[int]] = {}
    for held in kept.values():
        for topic_id, partitions in held.items():
            taken.setdefault(topic_id, set()).update(partitions)
    nothing: set[int] = set()
    return {
        topic_id: sorted(set(range(partition_counts[topic_id])) - taken.get(topic_id, nothing))
        for topic_id in topics
    }


def _frozen(kept: Mapping[str, _Held]) -> dict[str, Assignment]:
    return {
        member_id: {
            topic_id: frozenset(partitions) for topic_id, partitions in held.items() if partitions
        }
        for member_id, held in kept.items()
    }


# --- all members subscribe to the same topics ---------------------------------------------------


def _assign_alike(
    kept: dict[str, _Held], topics: Sequence[TopicId], partition_counts: Mapping[TopicId, int]
) -> dict[str, Assignment]:
    """Sizes differ by one at most, and no other assignment of those sizes moves fewer partitions.

    The larger shares go to those who hold the most already.
    """
    quota, extra = divmod(sum(partition_counts[topic_id] for topic_id in topics), len(kept))
    sizes = {
        member_id: sum(len(partitions) for partitions in held.values())
        for member_id, held in kept.items()
    }
    shares: dict[str, int] = {}
    for rank, member_id in enumerate(sorted(kept, key=lambda member_id: -sizes[member_id])):
        shares[member_id] = quota + (rank < extra)
        if sizes[member_id] > shares[member_id]:
            _shed(kept[member_id], sizes[member_id] - shares[member_id])
            sizes[member_id] = shares[member_id]
    free = _free_partitions(kept, topics, partition_counts)
    supply = deque((topic_id, partition) for topic_id in topics for partition in free[topic_id])
    for member_id in sorted(kept):
        for _ in range(shares[member_id] - sizes[member_id]):
            topic_id, partition = supply.popleft()
            kept[member_id].setdefault(topic_id, []).append(partition)
    assert not supply, "the shares add up to all partitions"
    return _frozen(kept)


def _shed(held: _Held, excess: int) -> None:
    """Give up partitions, the last ones first."""
    for topic_id in sorted(held, reverse=True):
        partitions = held[topic_id]
        surplus = min(excess, len(partitions))
        del partitions[len(partitions) - surplus :]
        excess -= surplus
        if not excess:
            return


# --- subscriptions differ -----------------------------------------------------------------------


def _assign_unlike(
    members: Mapping[str, AssignmentMember],
    kept: dict[str, _Held],
    partition_counts: Mapping[TopicId, int],
) -> dict[str, Assignment]:
    """When it is done, no single move of a partition would even out two members."""
    subscribers: dict[TopicId, list[str]] = {}
    for member_id in sorted(members):
        for topic_id in members[member_id].topics:
            subscribers.setdefault(topic_id, []).append(member_id)
    loads = {
        member_id: sum(len(partitions) for partitions in held.values())
        for member_id, held in kept.items()
    }
    # Topics with little choice first: the others then fill up what those left uneven.
    topics = sorted(
        subscribers,
        key=lambda topic: (
            -partition_counts[topic] / len(subscribers[topic]),
            len(subscribers[topic]),
            topic,
        ),
    )
    for topic_id, partitions in _free_partitions(kept, topics, partition_counts).items():
        _deal(topic_id, partitions, subscribers[topic_id], kept, loads)
    shared_topics = [topic_id for topic_id in topics if len(subscribers[topic_id]) > 1]
    for _ in range(BALANCE_PASSES_MAX):
        moves = sum(_balance(topic, subscribers[topic], kept, loads) for topic in shared_topics)
        if moves == 0:
            break
    return _frozen(kept)


def _deal(
    topic_id: TopicId,
    partitions: Iterable[int],
    subscribers: Sequence[str],
    kept: dict[str, _Held],
    loads: dict[str, int],
) -> None:
    """Each partition to the subscriber with the least load."""
    heap = [(loads[member_id], member_id) for member_id in subscribers]
    heapify(heap)
    for partition in partitions:
        load, member_id = heap[0]
        kept[member_id].setdefault(topic_id, []).append(partition)
        loads[member_id] = load + 1
        heapreplace(heap, (load + 1, member_id))


def _balance(
    topic_id: TopicId, subscribers: Sequence[str], kept: dict[str, _Held], loads: dict[str, int]
) -> int:
    """Move partitions of one topic from the fullest to the emptiest subscriber; count the moves."""
    givers = [(-loads[member], member) for member in subscribers if kept[member].get(topic_id)]
    takers = [(loads[member], member) for member in subscribers]
    heapify(givers)
    heapify(takers)
    moves = 0
    while givers:
        most, giver = givers[0]
        least, taker = takers[0]
        # A member whose load changed got a new entry in both heaps: the old ones are stale.
        if -most != loads[giver] or not kept[giver].get(topic_id):
            heappop(givers)
            continue
        if least != loads[taker]:
            heappop(takers)
            continue
        if -most - least <= 1:
            break
        kept[taker].setdefault(topic_id, []).append(kept[giver][topic_id].pop())
        loads[giver] -= 1
        loads[taker] += 1
        for member in (giver, taker):
            heappush(givers, (-loads[member], member))
            heappush(takers, (loads[member], member))
        moves += 1
    return moves

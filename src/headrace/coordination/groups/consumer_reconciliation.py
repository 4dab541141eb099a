"""Reconciliation: one step of one member from what it owns towards its target (KIP-848).

::

    STABLE ---- target moved, must give up ----> UNREVOKED_PARTITIONS --+
      |                                                                 | client stopped
      |  target moved, nothing to give up                               | reporting them
      v                                                                 v
    gets what is free of its target <-----------------------------------+
      |--- all of it --> STABLE, at the target's epoch
      '--- others still hold some --> UNRELEASED_PARTITIONS, at the target's epoch; tried again with
                                      every heartbeat

The safety of the whole protocol is here: a partition is given to a member only when nobody holds
it, and a member holds what it was told to give up until its client stops reporting it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.coordination.groups.consumer_member import Member, MemberState, OwnedPartitions
from headrace.model.errors import FencedMemberEpoch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.model.topic import TopicId

_NO_PARTITIONS: frozenset[int] = frozenset()


class Target(NamedTuple):
    epoch: int
    partitions: Mapping[TopicId, frozenset[int]]


def reconcile(
    member: Member,
    target: Target,
    subscribed: frozenset[TopicId],
    owned: Mapping[TopicId, frozenset[int]] | None,
    holder: Callable[[TopicId, int], str | None],
    *,
    subscription_changed: bool = False,
) -> Member:
    """The member after the step; the same object if it cannot move.

    ``owned`` is what the client reports, None if it reports nothing; ``holder`` names the member
    that holds a partition.
    """
    state = member.state
    if state is MemberState.STABLE and member.epoch == target.epoch:
        return _drop_unsubscribed(member, subscribed, owned) if subscription_changed else member
    if state is MemberState.UNREVOKED_PARTITIONS and _still_owns(owned, member.revoking):
        return _drop_unsubscribed(member, subscribed, owned) if subscription_changed else member
    if state is MemberState.UNKNOWN and owned != {}:
        raise FencedMemberEpoch("the member's state is unknown: give up all partitions and join")
    return _advance(member, target, subscribed, owned, holder)


def _advance(
    member: Member,
    target: Target,
    subscribed: frozenset[TopicId],
    owned: Mapping[TopicId, frozenset[int]] | None,
    holder: Callable[[TopicId, int], str | None],
) -> Member:
    assigned: OwnedPartitions = {}
    revoking: OwnedPartitions = {}
    wanted = {topic: target.partitions[topic] for topic in target.partitions if topic in subscribed}
    for topic_id, partitions in member.assigned.items():
        keep = wanted.get(topic_id, _NO_PARTITIONS)
        kept = {p: epoch for p, epoch in partitions.items() if p in keep}
        if kept:
            assigned[topic_id] = kept
        if len(kept) < len(partitions):
            revoking[topic_id] = {p: epoch for p, epoch in partitions.items() if p not in keep}
    if revoking and _still_owns(owned, revoking):
        return _with_ownership(
            member, MemberState.UNREVOKED_PARTITIONS, member.epoch, assigned, revoking
        )
    is_waiting = _take_free(member, target.epoch, wanted, assigned, holder)
    state = MemberState.UNRELEASED_PARTITIONS if is_waiting else MemberState.STABLE
    return _with_ownership(member, state, target.epoch, assigned, {})


def _take_free(
    member: Member,
    epoch: int,
    wanted: Mapping[TopicId, frozenset[int]],
    assigned: OwnedPartitions,
    holder: Callable[[TopicId, int], str | None],
) -> bool:
    """Add what nobody else holds to ``assigned``; whether something had to be left."""
    is_waiting = False
    for topic_id, partitions in wanted.items():
        mine = assigned.get(topic_id, {})
        # What this member itself held until now, because it was to be revoked, is free for it.
        missing = partitions - mine.keys()
        free = {p: epoch for p in missing if holder(topic_id, p) in (None, member.member_id)}
        if len(free) < len(missing):
            is_waiting = True
        if free:
            assigned[topic_id] = {**mine, **free}
    return is_waiting


def _drop_unsubscribed(
    member: Member,
    subscribed: frozenset[TopicId],
    owned: Mapping[TopicId, frozenset[int]] | None,
) -> Member:
    """Without waiting for a new target, take away topics that the member no longer wants."""
    unwanted = member.assigned.keys() - subscribed
    if not unwanted:
        return member
    assigned = {t: partitions for t, partitions in member.assigned.items() if t in subscribed}
    revoking = dict(member.revoking)
    for topic_id in unwanted:
        revoking[topic_id] = {**revoking.get(topic_id, {}), **member.assigned[topic_id]}
    if _still_owns(owned, revoking):
        return _with_ownership(
            member, MemberState.UNREVOKED_PARTITIONS, member.epoch, assigned, revoking
        )
    return _with_ownership(member, member.state, member.epoch, assigned, member.revoking)


def _still_owns(
    owned: Mapping[TopicId, frozenset[int]] | None, revoking: Mapping[TopicId, Mapping[int, int]]
) -> bool:
    """A client that reports nothing has to be taken for one that owns everything."""
    if owned is None:
        return True
    return any(
        not owned[topic_id].isdisjoint(partitions)
        for topic_id, partitions in revoking.items()
        if topic_id in owned
    )


def _with_ownership(
    member: Member,
    state: MemberState,
    epoch: int,
    assigned: OwnedPartitions,
    revoking: OwnedPartitions,
) -> Member:
    return member._replace(
        state=state,
        epoch=epoch,
        previous_epoch=member.epoch,
        assigned=assigned,
        revoking=revoking,
    )

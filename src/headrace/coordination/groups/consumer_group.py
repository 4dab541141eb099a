"""The state of one consumer group (KIP-848). Its ``replay_...`` methods are all that changes it.

Three epochs: the group's grows when a new assignment is needed; the assignment's says for which
group epoch the target was computed; each member's follows as it is reconciled with its target.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from headrace.coordination.groups import consumer_records as stored
from headrace.coordination.groups.commands import GroupKind, ListedGroup
from headrace.coordination.groups.consumer_member import LEAVE_EPOCH, Member, OwnedPartitions
from headrace.model.errors import StaleMemberEpoch, UnknownMember, UnsupportedVersion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.coordination.groups.assignors import Assignment
    from headrace.coordination.shard import CoordinatorRecord
    from headrace.model.topic import TopicId

PROTOCOL_TYPE = "consumer"
NEVER_CHECKED = -1


class GroupState(StrEnum):
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


def subscribed_names(
    members: Iterable[Member], patterns: Mapping[str, stored.ResolvedPattern]
) -> frozenset[str]:
    """All topics that one of the members wants, whether they exist or not."""
    subscriptions = {(member.topic_names, member.pattern) for member in members}
    wanted = {names for names, _ in subscriptions}
    used = {pattern for _, pattern in subscriptions}
    wanted.update(patterns[pattern].topic_names for pattern in used & patterns.keys())
    return frozenset().union(*wanted)


class ConsumerGroup:
    """A Group (see ``registry.py``)."""

    kind = GroupKind.CONSUMER

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.metadata_hash = 0
        self.assignment_epoch = 0
        self.members: dict[str, Member] = {}
        self.targets: dict[str, Assignment] = {}
        self.patterns: dict[str, stored.ResolvedPattern] = {}
        self.has_partition_metadata = False
        """An older Kafka left a record that has to be deleted."""
        # Derived from the above.
        self._holders: dict[TopicId, dict[int, str]] = {}
        self._static_members: dict[str, str] = {}
        # Soft: which state of the catalogue the group is known to agree with.
        self.checked_version = NEVER_CHECKED
        self.patterns_checked_ms = 0

    # --- questions ------------------------------------------------------------------------------

    @property
    def state(self) -> GroupState:
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return GroupState.ASSIGNING
        if all(m.is_reconciled_to(self.assignment_epoch) for m in self.members.values()):
            return GroupState.STABLE
        return GroupState.RECONCILING

    def member(self, member_id: str) -> Member:
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMember(f"{member_id!r} is not a member of group {self.group_id!r}")
        return member

    def static_member(self, instance_id: str) -> Member | None:
        member_id = self._static_members.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def holder(self, topic_id: TopicId, partition: int) -> str | None:
        """The member that owns a partition, or owned it and has not said that it stopped."""
        holders = self._holders.get(topic_id)
        return None if holders is None else holders.get(partition)

    def is_empty(self) -> bool:
        return not self.members

    def listed(self) -> ListedGroup:
        return ListedGroup(self.group_id, PROTOCOL_TYPE, self.state, self.kind)

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in subscribed_names(self.members.values(), self.patterns)

    def validate_offset_commit(
        self, member_id: str, instance_id: str | None, epoch: int, *, is_epoch_checked: bool
    ) -> None:
        if epoch < 0 and not self.members:
            return
        member = self.member(member_id)
        if not is_epoch_checked:
            raise UnsupportedVersion("members of a consumer group commit with their member epoch")
        self._raise_if_stale(member, epoch)

    def validate_transactional_commit(
        self, member_id: str, instance_id: str | None, epoch: int
    ) -> None:
        is_nameless = not member_id and instance_id is None
        if epoch < 0 and (is_nameless or not self.members):
            return
        self._raise_if_stale(self.member(member_id), epoch)

    def validate_offset_delete(self) -> None:
        """Only subscriptions stand against it."""

    def validate_offset_fetch(self, member_id: str | None, epoch: int) -> None:
        if member_id is None and epoch < 0:
            return
        self._raise_if_stale(self.member(member_id or ""), epoch)

    def keep_alive(self, member_id: str, now_ms: int) -> None:
        """Only heartbeats extend a session in this protocol."""

    def offset_unused_since_ms(self, commit_timestamp_ms: int) -> int | None:
        return commit_timestamp_ms

    def tombstones(self) -> list[CoordinatorRecord]:
        records = [
            record
            for member_id in self.members
            for record in stored.member_tombstones(self.group_id, member_id)
        ]
        records += [stored.pattern_tombstone(self.group_id, pattern) for pattern in self.patterns]
        if self.has_partition_metadata:
            records.append(stored.partition_metadata_tombstone(self.group_id))
        records.append(stored.target_epoch_tombstone(self.group_id))
        records.append(stored.group_epoch_tombstone(self.group_id))
        return records

    def _raise_if_stale(self, member: Member, epoch: int) -> None:
        # A static member that left is at -2, which must not pass for an epoch that a caller claims.
        if epoch != member.epoch or epoch < 0:
            raise StaleMemberEpoch(
                f"member {member.member_id!r} is at epoch {member.epoch}, the request says {epoch}"
            )

    # --- replay ---------------------------------------------------------------------------------

    def replay_epoch(self, value: stored.GroupEpoch) -> None:
        self.epoch, self.metadata_hash = value

    def replay_member(self, subscription: Member) -> None:
        """A record of the subscription: what the member owns stays."""
        known = self.members.get(subscription.member_id)
        if known is not None:
            self._forget_instance(known)
            subscription = subscription._replace(
                epoch=known.epoch,
                previous_epoch=known.previous_epoch,
                state=known.state,
                assigned=known.assigned,
                revoking=known.revoking,
            )
        self.members[subscription.member_id] = subscription
        if subscription.instance_id is not None:
            self._static_members[subscription.instance_id] = subscription.member_id

    def replay_member_removal(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._release(member)
        self._forget_instance(member)

    def replay_target_epoch(self, value: stored.TargetEpoch) -> None:
        self.assignment_epoch = value.epoch

    def replay_target(self, member_id: str, target: Assignment | None) -> None:
        if target is None:
            self.targets.pop(member_id, None)
        else:
            self.targets[member_id] = target

    def replay_current(self, member_id: str, value: stored.CurrentAssignment | None) -> None:
        # A compacted log may hold this record before the member's own.
        member = self.members.get(member_id)
        if member is None:
            if value is None:
                return
            member = Member(member_id)
        self._release(member)
        if value is None:
            value = stored.CurrentAssignment(LEAVE_EPOCH, LEAVE_EPOCH, member.state, {}, {})
        member = member._replace(**value._asdict())
        self.members[member_id] = member
        self._hold(member_id, member.assigned)
        self._hold(member_id, member.revoking)

    def replay_pattern(self, pattern: str, value: stored.ResolvedPattern | None) -> None:
        if value is None:
            self.patterns.pop(pattern, None)
        else:
            self.patterns[pattern] = value

    def _hold(self, member_id: str, owned: OwnedPartitions) -> None:
        for topic_id, partitions in owned.items():
            self._holders.setdefault(topic_id, {}).update(dict.fromkeys(partitions, member_id))

    def _release(self, member: Member) -> None:
        for owned in (member.assigned, member.revoking):
            for topic_id, partitions in owned.items():
                holders = self._holders.get(topic_id, {})
                for partition in partitions:
                    # Another may hold it already where compaction dropped records in between.
                    if holders.get(partition) == member.member_id:
                        del holders[partition]
                if not holders:
                    self._holders.pop(topic_id, None)

    def _forget_instance(self, member: Member) -> None:
        instance_id = member.instance_id
        if instance_id is not None and self._static_members.get(instance_id) == member.member_id:
            del self._static_members[instance_id]

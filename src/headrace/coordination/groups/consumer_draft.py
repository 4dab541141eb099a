"""A consumer group as it will be once the records of a decision are replayed.

A decision takes several steps, and later ones see what earlier ones decided: subscription,
patterns, group epoch, target, reconciliation. The draft carries that, and the records, and leaves
the group itself untouched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.groups import consumer_records as stored
from headrace.coordination.groups.assignors import ASSIGNORS, AssignmentMember
from headrace.coordination.groups.consumer_group import ConsumerGroup, subscribed_names
from headrace.coordination.groups.patterns import matching_topics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.coordination.groups.assignors import Assignment
    from headrace.coordination.groups.consumer_member import Member
    from headrace.coordination.groups.consumer_topics import TopicCatalogue
    from headrace.coordination.shard import CoordinatorRecord
    from headrace.model.topic import TopicId


class ConsumerGroupDraft:
    def __init__(self, group: ConsumerGroup, catalogue: TopicCatalogue) -> None:
        self.group_id = group.group_id
        self.group = group
        self.records: list[CoordinatorRecord] = []
        self.epoch = group.epoch
        self.metadata_hash = group.metadata_hash
        self.assignment_epoch = group.assignment_epoch
        self.members = group.members.copy()
        self.patterns: Mapping[str, stored.ResolvedPattern] = group.patterns
        self._targets: Mapping[str, Assignment] = group.targets
        self._catalogue = catalogue
        self._renamed: dict[str, str] = {}

    # --- members --------------------------------------------------------------------------------

    def put_subscription(self, member: Member) -> None:
        self.members[member.member_id] = member
        self.records.append(stored.member_record(self.group_id, member))

    def put_ownership(self, member: Member) -> None:
        self.members[member.member_id] = member
        self.records.append(stored.current_assignment_record(self.group_id, member))

    def remove(self, member_id: str) -> None:
        del self.members[member_id]
        self.records += stored.member_tombstones(self.group_id, member_id)

    def rename(self, member: Member, member_id: str) -> Member:
        """A static member is back under another id: it takes over target and partitions."""
        successor = member._replace(member_id=member_id, epoch=0, previous_epoch=0)
        target = self.target(member.member_id)
        self.remove(member.member_id)
        self.put_subscription(successor)
        self._targets = {**self._targets, member_id: target}
        self.records.append(stored.target_member_record(self.group_id, member_id, target))
        self.put_ownership(successor)
        self._renamed[member.member_id] = member_id
        return successor

    def target(self, member_id: str) -> Assignment:
        return self._targets.get(member_id, {})

    def holder(self, topic_id: TopicId, partition: int) -> str | None:
        member_id = self.group.holder(topic_id, partition)
        return None if member_id is None else self._renamed.get(member_id, member_id)

    # --- patterns -------------------------------------------------------------------------------

    def resolve_patterns(
        self, now_ms: int, *, refresh: bool, is_visible: Callable[[str], bool] | None = None
    ) -> bool:
        """Resolve new patterns (or all), forget unused ones; whether the topics changed."""
        used = {member.pattern for member in self.members.values() if member.pattern}
        if not used and not self.patterns:
            return False
        patterns = {pattern: self.patterns[pattern] for pattern in self.patterns if pattern in used}
        for pattern in self.patterns.keys() - used:
            self.records.append(stored.pattern_tombstone(self.group_id, pattern))
        has_changed = False
        for pattern in sorted(used):
            known = patterns.get(pattern)
            if known is not None and not refresh:
                continue
            names = matching_topics(pattern, self._catalogue.names())
            if is_visible is not None:
                names = frozenset(filter(is_visible, names))
            if known is not None and names == known.topic_names:
                continue
            patterns[pattern] = stored.ResolvedPattern(names, self._catalogue.version, now_ms)
            self.records.append(stored.pattern_record(self.group_id, pattern, patterns[pattern]))
            has_changed = True
        self.patterns = patterns
        return has_changed

    def topic_ids(self, member: Member) -> frozenset[TopicId]:
        """The topics that the member wants and that exist."""
        return self._catalogue.ids(subscribed_names((member,), self.patterns))

    # --- epochs ---------------------------------------------------------------------------------

    def current_metadata_hash(self) -> int:
        names = subscribed_names(self.members.values(), self.patterns)
        return self._catalogue.metadata_hash(names)

    def bump_epoch(self, metadata_hash: int) -> None:
        self.epoch += 1
        self.metadata_hash = metadata_hash
        if self.group.has_partition_metadata:
            self.records.append(stored.partition_metadata_tombstone(self.group_id))
        value = stored.GroupEpoch(self.epoch, metadata_hash)
        self.records.append(stored.group_epoch_record(self.group_id, value))

    def assign(self, assignor: str, now_ms: int) -> None:
        """Compute the target for the present group epoch; write what differs from the old one."""
        topic_ids: dict[tuple[frozenset[str], str], frozenset[TopicId]] = {}
        members: dict[str, AssignmentMember] = {}
        for member_id, member in self.members.items():
            subscription = (member.topic_names, member.pattern)
            if subscription not in topic_ids:
                topic_ids[subscription] = self.topic_ids(member)
            members[member_id] = AssignmentMember(
                topic_ids[subscription], self.target(member_id), member.instance_id
            )
        wanted = frozenset[bytes]().union(*topic_ids.values())
        targets = ASSIGNORS[assignor](members, self._catalogue.partition_counts(wanted))
        for member_id, target in targets.items():
            if target != self._targets.get(member_id):
                self.records.append(stored.target_member_record(self.group_id, member_id, target))
        self._targets = targets
        self.assignment_epoch = self.epoch
        value = stored.TargetEpoch(self.epoch, now_ms)
        self.records.append(stored.target_epoch_record(self.group_id, value))

    def preferred_assignor(self, names: Sequence[str]) -> str:
        return preferred_assignor(self.members, names)


def preferred_assignor(members: Mapping[str, Member], names: Sequence[str]) -> str:
    """The one that most members ask for; the first of ``names`` on a tie and when nobody asks."""
    votes = dict.fromkeys(names, 0)
    for member in members.values():
        if member.assignor in votes:
            votes[member.assignor] += 1
    return max(votes, key=lambda name: votes[name])

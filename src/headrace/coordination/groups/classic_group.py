"""A classic group: its members and what can be said of them. It decides nothing.

Everything here is soft except what ``restore`` and ``apply_stored`` set from a replayed record:
the rebalance in ``classic_rebalance.py`` drives the rest.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headrace.coordination.groups.classic_states import LEGAL_CHANGES, ClassicState
from headrace.coordination.groups.commands import (
    DescribedGroup,
    DescribedMember,
    GroupKind,
    JoinedMember,
    ListedGroup,
    Protocol,
)
from headrace.coordination.groups.members import ClassicMember
from headrace.coordination.groups.record_codecs import group_tombstone
from headrace.coordination.groups.records import NO_TIMESTAMP, StoredGroup
from headrace.coordination.groups.subscription import (
    CONSUMER_PROTOCOL_TYPE,
    maybe_subscribed_topics,
)
from headrace.model.errors import (
    FencedInstance,
    IllegalGeneration,
    NonEmptyGroup,
    RebalanceInProgress,
    UnknownMember,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.coordination.groups.deadlines import Deadlines
    from headrace.coordination.shard import CoordinatorRecord, Token


class ClassicGroup:
    """One group of the classic protocol, or one without any (offsets of a simple consumer)."""

    kind = GroupKind.CLASSIC

    def __init__(self, group_id: str, deadlines: Deadlines) -> None:
        self.group_id = group_id
        self._deadlines = deadlines
        self.state = ClassicState.EMPTY
        self.previous_state = ClassicState.EMPTY
        self.state_timestamp_ms = NO_TIMESTAMP
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.static_ids: dict[str, str] = {}
        """Member id by instance id."""
        self.pending_ids: set[str] = set()
        """Ids handed out to members that have yet to join with them (KIP-394)."""
        self.unsynced_ids: set[str] = set()
        """Members of this generation that have not asked for their assignment yet."""
        self.has_grown = False
        """Somebody joined while the first rebalance was being delayed."""
        self.joined_count = 0
        """Members whose join is waiting for the others."""
        self._support: Counter[str] = Counter()
        self._subscribed_topics: frozenset[str] | None = None

    # --- persistent state -----------------------------------------------------------------------

    @classmethod
    def restore(cls, group_id: str, deadlines: Deadlines, stored: StoredGroup) -> ClassicGroup:
        """The group as the log has it: Stable with the last assignment, or Empty."""
        group = cls(group_id, deadlines)
        group.generation = stored.generation
        group.protocol_type = stored.protocol_type or None
        group.protocol_name = stored.protocol_name
        for entry in stored.members:
            member = ClassicMember(
                entry.member_id,
                entry.instance_id,
                entry.client_id,
                entry.client_host,
                entry.session_timeout_ms,
                entry.rebalance_timeout_ms,
                (Protocol(stored.protocol_name or "", entry.subscription),),
            )
            member.assignment = entry.assignment
            member.is_unheard = True
            group.add(member)
        group.leader_id = stored.leader_id
        group.state = ClassicState.STABLE if group.members else ClassicState.EMPTY
        group.state_timestamp_ms = stored.state_timestamp_ms
        group.note_subscribed_topics()
        return group

    def apply_stored(self, stored: StoredGroup) -> None:
        """A record of this very group was written: take over identities and assignments."""
        for entry in stored.members:
            if entry.member_id not in self.members and entry.instance_id is not None:
                self.rename(self.static_ids[entry.instance_id], entry.member_id)
            self.members[entry.member_id].assignment = entry.assignment
        if stored.members and self.state is ClassicState.COMPLETING:
            self.change_state(ClassicState.STABLE, stored.state_timestamp_ms)

    def stored(self, now_ms: int, assignments: Mapping[str, bytes] | None = None) -> StoredGroup:
        """What to write; ``assignments`` are those that are not applied yet."""
        members = self.members.values()
        if assignments is None:
            entries = (m.stored(self.protocol_name, m.assignment) for m in members)
        else:
            entries = (
                m.stored(self.protocol_name, assignments.get(m.member_id, b"")) for m in members
            )
        return StoredGroup(
            self.protocol_type or "",
            self.generation,
            self.protocol_name,
            self.leader_id,
            now_ms,
            tuple(entries),
        )

    def tombstones(self) -> list[CoordinatorRecord]:
        return [group_tombstone(self.group_id)]

    # --- changes --------------------------------------------------------------------------------

    def change_state(self, state: ClassicState, now_ms: int) -> None:
        assert state in LEGAL_CHANGES[self.state], f"{self.group_id}: {self.state} to {state}"
        self.previous_state = self.state
        self.state = state
        self.state_timestamp_ms = now_ms

    def add(self, member: ClassicMember) -> None:
        assert member.member_id not in self.members
        assert member.instance_id not in self.static_ids
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_ids[member.instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self._support.update({p.name for p in member.protocols})
        self.pending_ids.discard(member.member_id)

    def remove(self, member: ClassicMember) -> None:
        """The caller has answered the member's waiting requests."""
        assert member.join_token is None
        assert member.sync_token is None
        del self.members[member.member_id]
        self._deadlines.cancel(member)
        self.unsynced_ids.discard(member.member_id)
        self._support.subtract({p.name for p in member.protocols})
        if member.instance_id is not None:
            del self.static_ids[member.instance_id]
        if self.leader_id == member.member_id:
            self.leader_id = next(iter(self.members), None)

    def rename(self, old_id: str, new_id: str) -> ClassicMember:
        """A static member came back under a new id (KIP-345)."""
        member = self.members[old_id]
        member.is_unheard = False
        self.members = {
            new_id if member_id == old_id else member_id: each
            for member_id, each in self.members.items()
        }
        member.member_id = new_id
        if member.instance_id is not None:
            self.static_ids[member.instance_id] = new_id
        if self.leader_id == old_id:
            self.leader_id = new_id
        if old_id in self.unsynced_ids:
            self.unsynced_ids.remove(old_id)
            self.unsynced_ids.add(new_id)
        return member

    def set_protocols(self, member: ClassicMember, protocols: tuple[Protocol, ...]) -> None:
        self._support.subtract({p.name for p in member.protocols})
        member.protocols = protocols
        self._support.update({p.name for p in protocols})

    def park_join(self, member: ClassicMember, token: Token) -> None:
        assert member.join_token is None
        member.join_token = token
        self.joined_count += 1

    def take_join_token(self, member: ClassicMember) -> Token | None:
        token, member.join_token = member.join_token, None
        self.joined_count -= token is not None
        return token

    def extend_session(
        self, member: ClassicMember, now_ms: int, timeout_ms: int | None = None
    ) -> None:
        assert member.expire is not None
        if timeout_ms is None:
            timeout_ms = member.session_timeout_ms
        self._deadlines.set(member, now_ms + timeout_ms, member.expire)

    def end(self) -> None:
        """The group has been deleted."""
        for member in list(self.members.values()):
            self.remove(member)
        self.change_state(ClassicState.DEAD, self.state_timestamp_ms)

    def start_generation(self, now_ms: int) -> None:
        """Fix members and protocol of the next generation."""
        self.generation += 1
        self.unsynced_ids.clear()
        if self.members:
            self.protocol_name = self.elected_protocol()
            self.change_state(ClassicState.COMPLETING, now_ms)
        else:
            self.protocol_name = None
            self.change_state(ClassicState.EMPTY, now_ms)
        self.note_subscribed_topics()

    def elect_joined_leader(self) -> bool:
        """See to it that a member which has joined again leads; False if none has."""
        leader = self.members.get(self.leader_id or "")
        if leader is not None and leader.is_awaiting_join:
            return True
        joined = next((m for m in self.members.values() if m.is_awaiting_join), None)
        if joined is None:
            return False
        self.leader_id = joined.member_id
        return True

    def note_subscribed_topics(self) -> None:
        """None while it is unknown: no consumers, no protocol yet, or metadata of another kind."""
        self._subscribed_topics = None
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            return
        if self.members and self.protocol_name is None:
            return
        topics: set[str] = set()
        for member in self.members.values():
            subscribed = maybe_subscribed_topics(member.metadata(self.protocol_name))
            if subscribed is None:
                return
            topics |= subscribed
        self._subscribed_topics = frozenset(topics)

    # --- questions ------------------------------------------------------------------------------

    def is_empty(self) -> bool:
        return self.state is ClassicState.EMPTY

    @property
    def has_everybody_joined(self) -> bool:
        return not self.pending_ids and self.joined_count == len(self.members)

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((m.rebalance_timeout_ms for m in self.members.values()), default=0)

    def elected_protocol(self) -> str:
        """Each member votes for its favourite among those that all support."""
        candidates = {name for name, count in self._support.items() if count == len(self.members)}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        elected = max(votes, key=votes.__getitem__)
        assert elected is not None, f"{self.group_id}: members without a common protocol"
        return elected

    def supports(self, protocol_type: str, protocols: Iterable[Protocol]) -> bool:
        if self.state is ClassicState.EMPTY:
            return True
        return protocol_type == self.protocol_type and any(
            self._support[protocol.name] == len(self.members) for protocol in protocols
        )

    def raise_if_not_member(self, member_id: str, instance_id: str | None) -> ClassicMember:
        if instance_id is not None:
            self._raise_if_not_holder(member_id, instance_id)
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMember(f"member {member_id!r} is not in group {self.group_id!r}")
        member.is_unheard = False
        return member

    def _raise_if_not_holder(self, member_id: str, instance_id: str) -> None:
        """To be fenced ends a client for good, so it takes a proof that there are two of them.

        No id is no proof: a client that heard nothing of us for a session forgets its own id, and
        sends the commits that it had put off before it joins again. Neither is the id that the log
        has, before somebody has used it: the ids of a rebalance that a crash cut off are not there.
        """
        holder_id = self.static_ids.get(instance_id)
        if holder_id is None or not member_id:
            raise UnknownMember(f"instance {instance_id!r} is not in group {self.group_id!r}")
        if holder_id != member_id:
            if self.members[holder_id].is_unheard:
                raise UnknownMember(f"member {member_id!r} is not in group {self.group_id!r}")
            raise FencedInstance(f"instance {instance_id!r} has been taken by another member")

    def raise_if_not_of_generation(
        self, member_id: str, instance_id: str | None, generation: int
    ) -> ClassicMember:
        member = self.raise_if_not_member(member_id, instance_id)
        if generation != self.generation:
            raise IllegalGeneration(
                f"group {self.group_id!r} is at generation {self.generation}, not {generation}"
            )
        return member

    def joined_members(self) -> tuple[JoinedMember, ...]:
        return tuple(
            JoinedMember(m.member_id, m.instance_id, m.metadata(self.protocol_name))
            for m in self.members.values()
        )

    # --- what offsets, expiry and administration ask (``registry.Group``) -----------------------

    def validate_offset_commit(
        self, member_id: str, instance_id: str | None, epoch: int, *, is_epoch_checked: bool
    ) -> None:
        """Without a generation only while nobody is there: an administrator, or a consumer
        that assigns its partitions itself."""
        if epoch < 0 and self.state is ClassicState.EMPTY:
            return
        if epoch < 0 and not member_id and instance_id is None:
            raise UnknownMember(f"group {self.group_id!r} has members, the caller is none of them")
        self.raise_if_not_of_generation(member_id, instance_id, epoch)
        if self.state is ClassicState.COMPLETING:
            raise RebalanceInProgress(f"group {self.group_id!r} awaits its assignment")

    def validate_transactional_commit(
        self, member_id: str, instance_id: str | None, epoch: int
    ) -> None:
        """A rebalance does not stand against it: the assignment of this generation is over, what
        was read under it is not."""
        is_nameless = not member_id and instance_id is None
        if epoch < 0 and (is_nameless or self.state is ClassicState.EMPTY):
            return
        self.raise_if_not_of_generation(member_id, instance_id, epoch)

    def validate_offset_fetch(self, member_id: str | None, epoch: int) -> None:
        """Anybody may look at the offsets of a classic group."""

    def validate_offset_delete(self) -> None:
        if not self.is_empty() and self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            raise NonEmptyGroup(f"group {self.group_id!r} has members that are not consumers")

    def keep_alive(self, member_id: str, now_ms: int) -> None:
        """A commit counts as a heartbeat, unless the member owes us a sync."""
        if self.state in (ClassicState.STABLE, ClassicState.PREPARING):
            member = self.members.get(member_id)
            if member is not None:
                self.extend_session(member, now_ms)

    def is_subscribed_to(self, topic: str) -> bool:
        if self._subscribed_topics is None:
            return self.protocol_type == CONSUMER_PROTOCOL_TYPE
        return topic in self._subscribed_topics

    def offset_unused_since_ms(self, commit_timestamp_ms: int) -> int | None:
        """KIP-211: from when the group became empty; from the commit for simple consumers and for
        topics that a stable group has dropped; never while a rebalance may bring them back."""
        if self.protocol_type is None:
            return commit_timestamp_ms
        if self.state is ClassicState.EMPTY:
            has_timestamp = self.state_timestamp_ms != NO_TIMESTAMP
            return self.state_timestamp_ms if has_timestamp else commit_timestamp_ms
        if self.state is ClassicState.STABLE and self._subscribed_topics is not None:
            return commit_timestamp_ms
        return None

    def listed(self) -> ListedGroup:
        return ListedGroup(self.group_id, self.protocol_type or "", self.state, self.kind)

    def described(self) -> DescribedGroup:
        """Metadata and protocol are shown once they are agreed upon, that is when Stable."""
        is_stable = self.state is ClassicState.STABLE
        protocol_name = self.protocol_name if is_stable else None
        return DescribedGroup(
            self.group_id,
            self.state,
            self.protocol_type or "",
            protocol_name or "",
            tuple(
                DescribedMember(
                    m.member_id,
                    m.instance_id,
                    m.client_id,
                    m.client_host,
                    m.metadata(protocol_name) if is_stable else b"",
                    m.assignment if is_stable else b"",
                )
                for m in self.members.values()
            ),
        )

"""Consumer groups (KIP-848): the coordinator computes assignments, members follow by heartbeats.

A heartbeat is the whole protocol. It may join (epoch 0), leave (-1, or -2 for a static member that
will be back), change the subscription, report what the client owns; its answer brings a new epoch
and, when it changed, the assignment. Steps of a decision: subscription, patterns and group epoch,
target assignment, reconciliation of this one member.

Soft state, not in the log: session and rebalance deadlines, and which version of the topic
catalogue a group has been compared with.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.coordination.groups.consumer_commands import (
    ConsumerHeartbeat,
    ConsumerHeartbeatReply,
    DescribeConsumerGroup,
)
from headrace.coordination.groups.consumer_description import described_group
from headrace.coordination.groups.consumer_draft import ConsumerGroupDraft
from headrace.coordination.groups.consumer_group import ConsumerGroup
from headrace.coordination.groups.consumer_member import (
    JOIN_EPOCH,
    NO_REBALANCE_TIMEOUT,
    STATIC_LEAVE_EPOCH,
    Member,
    MemberState,
)
from headrace.coordination.groups.consumer_reconciliation import Target, reconcile
from headrace.coordination.groups.consumer_replay import ConsumerReplay
from headrace.coordination.groups.consumer_validation import (
    raise_if_fenced,
    raise_if_invalid_heartbeat,
    raise_if_other_member,
)
from headrace.coordination.groups.patterns import raise_if_invalid_pattern
from headrace.coordination.shard import Decision, answer
from headrace.model.errors import GroupFull, GroupNotFound, UnreleasedInstance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.coordination.groups.consumer_topics import TopicCatalogue
    from headrace.coordination.groups.registry import GroupRegistry
    from headrace.coordination.shard import Token

PATTERN_REFRESH_INTERVAL_MS_MIN = 1_000
"""While topics come and go, the patterns of a group are matched again at most this often."""

FENCE_RETRY_INTERVAL_MS = 1_000
"""If the log cannot be written when a member is to be fenced, that is tried again after this."""

_NOTHING_NEW = (None, NO_REBALANCE_TIMEOUT, None, None, None, None)
"""The fields of ConsumerHeartbeat from ``rack_id`` to ``owned``, the fourth to the ninth."""


class ConsumerGroups:
    """The GroupEngine of the consumer protocol."""

    def __init__(self, registry: GroupRegistry, catalogue: TopicCatalogue) -> None:
        self._registry = registry
        self._settings = registry.settings
        self._groups = registry.groups
        self._catalogue = catalogue

    def deciders(self) -> Mapping[type, Callable[[Any, Token, int], Decision]]:
        return {ConsumerHeartbeat: self.heartbeat, DescribeConsumerGroup: self.describe}

    def replayers(self) -> Mapping[int, Callable[[bytes, bytes | None], None]]:
        return ConsumerReplay(self._groups).replayers()

    def loaded(self, now_ms: int) -> None:
        for group in self._groups.values():
            if isinstance(group, ConsumerGroup):
                for member in group.members.values():
                    self._extend_session(group.group_id, member.member_id, now_ms)
                    self._watch_revocation(group.group_id, member, now_ms)

    def describe(self, command: DescribeConsumerGroup, token: Token, now_ms: int) -> Decision:
        group = self._group(command.group_id)
        described = described_group(group, self._catalogue, self._settings.consumer_assignors)
        return answer(token, described)

    # --- heartbeats -----------------------------------------------------------------------------

    def heartbeat(self, command: ConsumerHeartbeat, token: Token, now_ms: int) -> Decision:
        group = self._groups.get(command.group_id)
        if isinstance(group, ConsumerGroup) and self._has_nothing_new(group, command):
            member_id, epoch = command.member_id, command.member_epoch
            self._extend_session(command.group_id, member_id, now_ms)
            interval_ms = self._settings.consumer_heartbeat_interval_ms
            return answer(token, ConsumerHeartbeatReply(member_id, epoch, interval_ms, None))
        raise_if_invalid_heartbeat(command, self._settings.consumer_assignors)
        if command.member_epoch < JOIN_EPOCH:
            return self._leave(command, token, now_ms)
        return self._join_or_update(command, token, now_ms)

    def _has_nothing_new(self, group: ConsumerGroup, command: ConsumerHeartbeat) -> bool:
        """The common case, and the only one that has to be quick."""
        member = group.members.get(command.member_id)
        return (
            member is not None
            and command.member_epoch == member.epoch == group.assignment_epoch == group.epoch
            and member.state is MemberState.STABLE
            and group.checked_version == self._catalogue.version
            and command[4:10] == _NOTHING_NEW
            and command.instance_id == member.instance_id
            and command.client_id == member.client_id
            and command.client_host == member.client_host
        )

    def _join_or_update(self, command: ConsumerHeartbeat, token: Token, now_ms: int) -> Decision:
        draft = self._open_draft(command)
        self._raise_if_full(draft.group, command)
        member = self._enter(draft, command)
        updated = _with_subscription(member, command)
        subscription_changed = (updated.topic_names, updated.pattern) != (
            member.topic_names,
            member.pattern,
        )
        if updated.pattern != member.pattern and updated.pattern:
            raise_if_invalid_pattern(updated.pattern)
        if updated != member or updated.member_id not in draft.members:
            draft.put_subscription(updated)
        self._update_epoch(
            draft,
            now_ms,
            subscription_changed=subscription_changed,
            is_visible=command.is_visible,
        )
        if draft.epoch > draft.assignment_epoch:
            draft.assign(draft.preferred_assignor(self._settings.consumer_assignors), now_ms)
        reconciled = reconcile(
            updated,
            Target(draft.assignment_epoch, draft.target(updated.member_id)),
            draft.topic_ids(updated),
            command.owned,
            draft.holder,
            subscription_changed=subscription_changed,
        )
        if reconciled != updated:
            draft.put_ownership(reconciled)
            self._watch_revocation(draft.group_id, reconciled, now_ms)
        self._extend_session(draft.group_id, reconciled.member_id, now_ms)
        return Decision(draft.records, [(token, self._reply(command, member, reconciled))])

    def _open_draft(self, command: ConsumerHeartbeat) -> ConsumerGroupDraft:
        """Only a joiner makes a group; it may take the place of an empty one of another kind."""
        group = self._groups.get(command.group_id)
        is_free = group is None or (group.is_empty() and not isinstance(group, ConsumerGroup))
        if command.member_epoch != JOIN_EPOCH or not is_free:
            return ConsumerGroupDraft(self._group(command.group_id), self._catalogue)
        draft = ConsumerGroupDraft(ConsumerGroup(command.group_id), self._catalogue)
        if group is not None:
            draft.records += group.tombstones()
        return draft

    def _group(self, group_id: str) -> ConsumerGroup:
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        if group is None:
            raise GroupNotFound(f"group {group_id!r} not found")
        # Kafka's answer where the migration policy forbids to take a classic group over.
        raise GroupNotFound(f"group {group_id!r} is not a consumer group")

    def _raise_if_full(self, group: ConsumerGroup, command: ConsumerHeartbeat) -> None:
        size_max = self._settings.consumer_size_max
        if len(group.members) < size_max or command.member_id in group.members:
            return
        if command.instance_id is not None and group.static_member(command.instance_id) is not None:
            return  # takes the place of a member, or is refused for a better reason
        raise GroupFull(f"group {group.group_id!r} has {size_max} members, the limit")

    def _enter(self, draft: ConsumerGroupDraft, command: ConsumerHeartbeat) -> Member:
        """The member that heartbeats: known, new, or the successor of a static one that left."""
        member_id = command.member_id or self._registry.new_id()
        is_joining = command.member_epoch == JOIN_EPOCH
        if command.instance_id is None:
            if is_joining:
                return draft.members.get(member_id) or Member(member_id)
            member = draft.group.member(member_id)
            raise_if_fenced(member, command)
            return member
        static = draft.group.static_member(command.instance_id)
        if not is_joining:
            static = raise_if_other_member(static, command)
            raise_if_fenced(static, command)
            return static
        if static is None:
            return draft.members.get(member_id) or Member(member_id)
        if static.member_id == member_id and not static.has_left():
            return static
        if not static.has_left():
            raise UnreleasedInstance(
                f"instance {command.instance_id!r} belongs to member {static.member_id!r}"
            )
        return draft.rename(static, member_id)

    def _update_epoch(
        self,
        draft: ConsumerGroupDraft,
        now_ms: int,
        *,
        subscription_changed: bool,
        is_visible: Callable[[str], bool] | None,
    ) -> None:
        """Bump the group epoch if members or topics ask for a new assignment."""
        group, version = draft.group, self._catalogue.version
        is_current = group.checked_version == version
        if draft.epoch > 0 and is_current and not subscription_changed:
            return
        elapsed_ms = now_ms - group.patterns_checked_ms
        refresh = not is_current and not 0 <= elapsed_ms < PATTERN_REFRESH_INTERVAL_MS_MIN
        if refresh:
            group.patterns_checked_ms = now_ms
        patterns_changed = draft.resolve_patterns(now_ms, refresh=refresh, is_visible=is_visible)
        metadata_hash = draft.current_metadata_hash()
        must_bump = draft.epoch == 0 or subscription_changed or patterns_changed
        if must_bump or metadata_hash != draft.metadata_hash:
            draft.bump_epoch(metadata_hash)
        elif refresh or not draft.patterns:
            # Not after a bump: that counts only once its record is replayed.
            group.checked_version = version

    def _reply(
        self, command: ConsumerHeartbeat, before: Member, after: Member
    ) -> ConsumerHeartbeatReply:
        is_full_request = (
            command.rebalance_timeout_ms != NO_REBALANCE_TIMEOUT
            and (command.topic_names is not None or command.pattern is not None)
            and command.owned is not None
        )
        assigned = None
        if (
            command.member_epoch == JOIN_EPOCH
            or is_full_request
            or before.assigned != after.assigned
        ):
            assigned = {topic: frozenset(owned) for topic, owned in after.assigned.items()}
        interval_ms = self._settings.consumer_heartbeat_interval_ms
        return ConsumerHeartbeatReply(after.member_id, after.epoch, interval_ms, assigned)

    # --- leaving --------------------------------------------------------------------------------

    def _leave(self, command: ConsumerHeartbeat, token: Token, now_ms: int) -> Decision:
        group = self._group(command.group_id)
        draft = ConsumerGroupDraft(group, self._catalogue)
        if command.instance_id is None:
            member = group.member(command.member_id)
        else:
            member = raise_if_other_member(group.static_member(command.instance_id), command)
        if command.member_epoch == STATIC_LEAVE_EPOCH:
            # Its partitions wait for it until the session ends; what it was giving up is free.
            draft.put_ownership(
                member._replace(epoch=STATIC_LEAVE_EPOCH, state=MemberState.STABLE, revoking={})
            )
        else:
            self._fence(draft, member.member_id, now_ms)
        reply = ConsumerHeartbeatReply(
            member.member_id, command.member_epoch, heartbeat_interval_ms=0, assigned=None
        )
        return Decision(draft.records, [(token, reply)])

    def _fence(self, draft: ConsumerGroupDraft, member_id: str, now_ms: int) -> None:
        """Remove a member. The others' next heartbeat computes who gets its partitions."""
        draft.remove(member_id)
        draft.resolve_patterns(now_ms, refresh=False)
        draft.bump_epoch(draft.current_metadata_hash())

    # --- deadlines ------------------------------------------------------------------------------
    #
    # A deadline is never cancelled: the decision that would do so may fail to be written. When it
    # is due it looks whether it still matters.

    def _extend_session(self, group_id: str, member_id: str, now_ms: int) -> None:
        self._registry.deadlines.set(
            ("consumer session", group_id, member_id),
            now_ms + self._settings.consumer_session_timeout_ms,
            partial(self._session_ended, group_id, member_id),
        )

    def _watch_revocation(self, group_id: str, member: Member, now_ms: int) -> None:
        """Who gives nothing up within its rebalance time-out is fenced: others wait for it."""
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            self._registry.deadlines.set(
                ("consumer rebalance", group_id, member.member_id),
                now_ms + max(0, member.rebalance_timeout_ms),
                partial(self._revocation_overdue, group_id, member.member_id, member.epoch),
            )

    def _session_ended(self, group_id: str, member_id: str, now_ms: int) -> Decision:
        group = self._groups.get(group_id)
        if not isinstance(group, ConsumerGroup) or member_id not in group.members:
            return Decision([], [])
        self._registry.deadlines.set(
            ("consumer session", group_id, member_id),
            now_ms + FENCE_RETRY_INTERVAL_MS,
            partial(self._session_ended, group_id, member_id),
        )
        draft = ConsumerGroupDraft(group, self._catalogue)
        self._fence(draft, member_id, now_ms)
        return Decision(draft.records, [])

    def _revocation_overdue(
        self, group_id: str, member_id: str, epoch: int, now_ms: int
    ) -> Decision:
        group = self._groups.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        if (
            member is None
            or member.epoch != epoch
            or member.state is not MemberState.UNREVOKED_PARTITIONS
        ):
            return Decision([], [])
        return self._session_ended(group_id, member_id, now_ms)


def _with_subscription(member: Member, command: ConsumerHeartbeat) -> Member:
    """The member with what the heartbeat says anew; a field that is None is as before."""
    timeout_ms = command.rebalance_timeout_ms
    return member._replace(
        instance_id=member.instance_id if command.instance_id is None else command.instance_id,
        rack_id=member.rack_id if command.rack_id is None else command.rack_id,
        client_id=command.client_id,
        client_host=command.client_host,
        topic_names=member.topic_names if command.topic_names is None else command.topic_names,
        pattern=member.pattern if command.pattern is None else command.pattern,
        rebalance_timeout_ms=(
            member.rebalance_timeout_ms if timeout_ms == NO_REBALANCE_TIMEOUT else timeout_ms
        ),
        assignor=member.assignor if command.assignor is None else command.assignor,
    )

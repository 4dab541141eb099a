from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.coordination.groups import consumer_records as stored
from headrace.coordination.groups.classic import ClassicGroups
from headrace.coordination.groups.commands import (
    CommitOffsets,
    GroupKind,
    JoinGroup,
    ListedGroup,
    OffsetToCommit,
    Protocol,
)
from headrace.coordination.groups.consumer import ConsumerGroups
from headrace.coordination.groups.consumer_commands import (
    ConsumerHeartbeat,
    ConsumerHeartbeatReply,
    DescribeConsumerGroup,
)
from headrace.coordination.groups.consumer_group import ConsumerGroup, GroupState
from headrace.coordination.groups.consumer_member import MemberState
from headrace.coordination.groups.consumer_topics import TopicCatalogue
from headrace.coordination.groups.coordinator import GroupCoordinator
from headrace.coordination.groups.offset_commands import OffsetCommands
from headrace.coordination.groups.registry import GroupRegistry, GroupSettings
from headrace.model.errors import (
    FencedInstance,
    FencedMemberEpoch,
    GroupFull,
    GroupNotFound,
    InconsistentGroupProtocol,
    InvalidRegularExpression,
    MemberIdRequired,
    StaleMemberEpoch,
    UnknownMember,
    UnreleasedInstance,
    UnsupportedAssignor,
)
from headrace.model.topic import TopicPartition

if TYPE_CHECKING:
    from headrace.coordination.shard import CoordinatorRecord

A, B, C = b"a" * 16, b"b" * 16, b"c" * 16
SESSION_MS = 45_000
REBALANCE_MS = 10_000


def some(*partitions: int) -> frozenset[int]:
    return frozenset(partitions)


class Coordinator:
    """The engine with a log in memory: every decision is written and replayed at once."""

    def __init__(self, **settings: Any) -> None:
        self.settings = GroupSettings(**settings)
        self.catalogue = TopicCatalogue()
        self.log: list[CoordinatorRecord] = []
        self.written: list[CoordinatorRecord] = []
        self.now_ms = 1_000_000
        self._start()

    def _start(self) -> None:
        self.registry = GroupRegistry(self.settings, lambda: "made-up-id")
        self.machine = GroupCoordinator(
            self.registry,
            [
                ClassicGroups(self.registry),
                ConsumerGroups(self.registry, self.catalogue),
                OffsetCommands(self.registry),
            ],
        )
        for record in self.log:
            self.machine.replay(record)
        self.machine.finish_loading(self.now_ms)

    def restart(self) -> None:
        self._start()

    def decide(self, command: Any) -> Any:
        decision = self.machine.decide(command, "token", self.now_ms)
        self._write(decision.records)
        ((token, reply),) = decision.replies
        assert token == "token"
        return reply

    def _write(self, records: list[CoordinatorRecord]) -> None:
        self.written = records
        self.log += records
        for record in records:
            self.machine.replay(record)

    def pass_time(self, elapsed_ms: int) -> None:
        self.now_ms += elapsed_ms
        while (decision := self.machine.expire_next(self.now_ms)) is not None:
            assert decision.replies == []
            self._write(decision.records)

    def join(self, member_id: str, *names: str, **fields: Any) -> ConsumerHeartbeatReply:
        command = ConsumerHeartbeat(
            "g",
            member_id,
            0,
            rebalance_timeout_ms=REBALANCE_MS,
            topic_names=frozenset(names),
            owned={},
        )
        reply = self.decide(command._replace(**fields))
        assert isinstance(reply, ConsumerHeartbeatReply)
        return reply

    def beat(self, member_id: str, epoch: int, **fields: Any) -> ConsumerHeartbeatReply:
        reply = self.decide(ConsumerHeartbeat("g", member_id, epoch, **fields))
        assert isinstance(reply, ConsumerHeartbeatReply)
        return reply

    @property
    def group(self) -> ConsumerGroup:
        group = self.registry.groups["g"]
        assert isinstance(group, ConsumerGroup)
        return group


@pytest.fixture
def coordinator() -> Coordinator:
    coordinator = Coordinator()
    coordinator.catalogue.put("a", A, 4)
    return coordinator


@pytest.fixture
def pair(coordinator: Coordinator) -> Coordinator:
    """m1 and m2 share topic a: two partitions each, both at epoch 2."""
    coordinator.join("m1", "a")
    coordinator.join("m2", "a")
    coordinator.beat("m1", 1, owned={A: some(0, 1, 2, 3)})
    coordinator.beat("m1", 1, owned={A: some(0, 1)})
    coordinator.beat("m2", 2)
    assert coordinator.group.state is GroupState.STABLE
    return coordinator


# --- joining and rebalancing --------------------------------------------------------------------


def test_first_member_gets_everything(coordinator: Coordinator) -> None:
    reply = coordinator.join("m1", "a")
    assert reply == ("m1", 1, 5_000, {A: some(0, 1, 2, 3)})
    kinds = [int.from_bytes(record.key[:2], "big") for record in coordinator.written]
    assert kinds == [5, 3, 7, 6, 8], "member, group epoch, target, its epoch, current assignment"
    assert coordinator.group.state is GroupState.STABLE


def test_partition_is_handed_over_only_after_its_owner_stopped_reporting_it(
    coordinator: Coordinator,
) -> None:
    coordinator.join("m1", "a")
    assert coordinator.join("m2", "a") == ("m2", 2, 5_000, {}), "m1 owns all of it still"
    told = coordinator.beat("m1", 1, owned={A: some(0, 1, 2, 3)})
    assert told == ("m1", 1, 5_000, {A: some(0, 1)}), "its epoch stays while it revokes"
    assert coordinator.beat("m1", 1).assigned is None, "told once"
    assert coordinator.beat("m2", 2).assigned is None, "still not free"
    assert coordinator.beat("m1", 1, owned={A: some(0, 1)}).member_epoch == 2
    assert coordinator.beat("m2", 2) == ("m2", 2, 5_000, {A: some(2, 3)})
    assert coordinator.group.state is GroupState.STABLE


def test_heartbeat_without_change_writes_nothing(pair: Coordinator) -> None:
    reply = pair.beat("m1", 2)
    assert reply == ("m1", 2, 5_000, None)
    assert pair.written == []
    assert pair.beat("m1", 2, owned={A: some(0, 1)}).assigned is None
    assert pair.written == []


def test_full_request_is_answered_with_the_assignment(pair: Coordinator) -> None:
    full = {"rebalance_timeout_ms": REBALANCE_MS, "topic_names": frozenset({"a"}), "owned": {}}
    assert pair.beat("m1", 2, **full).assigned == {A: some(0, 1)}
    assert pair.written == []


def test_member_id_is_made_up_for_old_clients_only(coordinator: Coordinator) -> None:
    assert coordinator.join("", "a", may_lack_member_id=True).member_id == "made-up-id"


def test_member_that_joins_again_keeps_its_partitions(pair: Coordinator) -> None:
    assert pair.join("m1", "a") == ("m1", 2, 5_000, {A: some(0, 1)})
    assert pair.written == []


def test_heartbeat_of_a_group_that_does_not_exist_is_refused(coordinator: Coordinator) -> None:
    with pytest.raises(GroupNotFound):
        coordinator.beat("m1", 1)
    with pytest.raises(GroupNotFound):
        coordinator.beat("m1", -1)


def test_unknown_member_must_join(pair: Coordinator) -> None:
    with pytest.raises(UnknownMember):
        pair.beat("m3", 2)


def test_previous_epoch_is_accepted_when_the_answer_was_lost(coordinator: Coordinator) -> None:
    coordinator.join("m1", "a")
    coordinator.catalogue.put("a", A, 5)
    coordinator.beat("m1", 1)
    assert coordinator.group.member("m1").epoch == 2
    assert coordinator.beat("m1", 1, owned={A: some(0, 1, 2, 3)}).member_epoch == 2
    with pytest.raises(FencedMemberEpoch):
        coordinator.beat("m1", 1)


def test_wrong_epoch_is_fenced(pair: Coordinator) -> None:
    for epoch in (1, 3):
        with pytest.raises(FencedMemberEpoch):
            pair.beat("m1", epoch, owned={A: some(3)})


def test_group_takes_no_more_members_than_it_may_have() -> None:
    coordinator = Coordinator(consumer_size_max=1)
    coordinator.join("m1", "a")
    with pytest.raises(GroupFull):
        coordinator.join("m2", "a")
    assert coordinator.join("m1", "a").member_epoch == 1


def test_static_member_comes_back_to_a_full_group() -> None:
    coordinator = Coordinator(consumer_size_max=1)
    coordinator.join("m1", "a", instance_id="i")
    coordinator.beat("m1", -2, instance_id="i")
    assert coordinator.join("m2", "a", instance_id="i").member_epoch == 1


# --- leaving and dying --------------------------------------------------------------------------


def test_partitions_of_a_leaver_are_free_at_once(pair: Coordinator) -> None:
    assert pair.beat("m1", -1) == ("m1", -1, 0, None)
    assert pair.beat("m2", 2) == ("m2", 3, 5_000, {A: some(0, 1, 2, 3)})
    with pytest.raises(UnknownMember):
        pair.beat("m1", 2)


def test_silent_member_is_fenced_when_its_session_ends(pair: Coordinator) -> None:
    pair.pass_time(SESSION_MS - 1)
    pair.beat("m2", 2)
    pair.pass_time(1)
    assert list(pair.group.members) == ["m2"]
    assert pair.beat("m2", 2).assigned == {A: some(0, 1, 2, 3)}
    with pytest.raises(UnknownMember):
        pair.beat("m1", 2)


def test_member_that_does_not_revoke_in_time_is_fenced_though_it_heartbeats(
    pair: Coordinator,
) -> None:
    pair.join("m3", "a")
    pair.beat("m1", 2, owned={A: some(0, 1)})
    pair.beat("m2", 2, owned={A: some(2, 3)})
    revoking = [
        member_id
        for member_id, member in pair.group.members.items()
        if member.state is MemberState.UNREVOKED_PARTITIONS
    ]
    assert len(revoking) == 1
    pair.pass_time(REBALANCE_MS - 1)
    pair.beat(revoking[0], 2)
    assert revoking[0] in pair.group.members
    pair.pass_time(1)
    assert revoking[0] not in pair.group.members


def test_member_that_revoked_in_time_is_not_fenced(coordinator: Coordinator) -> None:
    coordinator.join("m1", "a")
    coordinator.join("m2", "a")
    coordinator.beat("m1", 1, owned={A: some(0, 1, 2, 3)})
    coordinator.beat("m1", 1, owned={A: some(0, 1)})
    coordinator.pass_time(REBALANCE_MS)
    assert coordinator.group.members.keys() == {"m1", "m2"}


def test_group_without_members_is_empty(pair: Coordinator) -> None:
    pair.beat("m1", -1)
    pair.beat("m2", -1)
    assert pair.group.listed() == ListedGroup("g", "consumer", "Empty", GroupKind.CONSUMER)
    assert pair.join("m3", "a").assigned == {A: some(0, 1, 2, 3)}


# --- subscriptions and topics -------------------------------------------------------------------


def test_new_partitions_are_assigned(pair: Coordinator) -> None:
    pair.catalogue.put("a", A, 6)
    assert pair.beat("m1", 2).member_epoch == 3
    pair.beat("m2", 2)
    assigned = [len(member.assigned[A]) for member in pair.group.members.values()]
    assert assigned == [3, 3]


def test_topic_that_appears_later_is_assigned(coordinator: Coordinator) -> None:
    assert coordinator.join("m1", "later") == ("m1", 1, 5_000, {})
    coordinator.catalogue.put("later", B, 1)
    assert coordinator.beat("m1", 1) == ("m1", 2, 5_000, {B: some(0)})


def test_deleted_topic_is_taken_away(pair: Coordinator) -> None:
    pair.catalogue.remove("a")
    assert pair.beat("m1", 2, owned={A: some(0, 1)}).assigned == {}
    assert pair.beat("m1", 2, owned={}).member_epoch == 3


def test_topics_that_nobody_wants_change_nothing(pair: Coordinator) -> None:
    pair.catalogue.put("other", B, 9)
    assert pair.beat("m1", 2) == ("m1", 2, 5_000, None)
    assert pair.written == []


def test_changed_subscription_takes_effect_at_once(coordinator: Coordinator) -> None:
    coordinator.catalogue.put("b", B, 2)
    coordinator.join("m1", "a", "b")
    names = frozenset({"b"})
    owned = {A: some(0, 1, 2, 3), B: some(0, 1)}
    assert coordinator.beat("m1", 1, topic_names=names, owned=owned).assigned == {B: some(0, 1)}
    assert coordinator.beat("m1", 1, owned={B: some(0, 1)}).member_epoch == 2


def test_most_votes_choose_the_assignor(coordinator: Coordinator) -> None:
    coordinator.catalogue.put("b", B, 4)
    coordinator.join("m1", "a", "b", assignor="range")
    coordinator.join("m2", "a", "b")
    assert coordinator.group.targets["m2"] == {A: some(2, 3), B: some(2, 3)}, "cut by range"
    with pytest.raises(UnsupportedAssignor):
        coordinator.join("m3", "a", assignor="sticky")


# --- patterns -----------------------------------------------------------------------------------


def test_pattern_follows_the_topics_there_are(coordinator: Coordinator) -> None:
    coordinator.catalogue.put("ab", B, 1)
    reply = coordinator.join("m1", pattern="a.*", topic_names=None)
    assert reply.assigned == {A: some(0, 1, 2, 3), B: some(0)}
    coordinator.catalogue.put("abc", C, 1)
    coordinator.pass_time(1_000)
    assert coordinator.beat("m1", 1).assigned == {A: some(0, 1, 2, 3), B: some(0), C: some(0)}
    assert coordinator.group.patterns["a.*"].topic_names == {"a", "ab", "abc"}


def test_pattern_matches_only_topics_that_its_member_may_see(coordinator: Coordinator) -> None:
    coordinator.catalogue.put("ab", b"b" * 16, 1)
    coordinator.join("m1", pattern="a.*", topic_names=None, is_visible=lambda name: name != "a")
    assert coordinator.group.patterns["a.*"].topic_names == {"ab"}


def test_patterns_are_matched_again_once_in_a_while_only(coordinator: Coordinator) -> None:
    coordinator.join("m1", pattern="a.*", topic_names=None)
    coordinator.catalogue.put("ab", B, 1)
    assert coordinator.beat("m1", 1).member_epoch == 2
    coordinator.catalogue.put("abc", C, 1)
    assert coordinator.beat("m1", 2).assigned is None
    coordinator.pass_time(1_000)
    assert coordinator.beat("m1", 2).assigned == {A: some(0, 1, 2, 3), B: some(0), C: some(0)}
    coordinator.pass_time(1_000)
    assert coordinator.beat("m1", 3).assigned is None
    assert coordinator.written == []


def test_pattern_is_forgotten_with_its_last_subscriber(coordinator: Coordinator) -> None:
    coordinator.join("m1", pattern="a.*", topic_names=None)
    coordinator.join("m2", pattern="a.*", topic_names=None)
    coordinator.beat("m1", -1)
    assert "a.*" in coordinator.group.patterns
    coordinator.beat("m2", 2, pattern="", topic_names=frozenset({"a"}))
    assert coordinator.group.patterns == {}


def test_pattern_that_does_not_compile_is_refused(coordinator: Coordinator) -> None:
    with pytest.raises(InvalidRegularExpression):
        coordinator.join("m1", pattern="(", topic_names=None)
    assert "g" not in coordinator.registry.groups


# --- static members -----------------------------------------------------------------------------


def test_static_member_comes_back_to_its_partitions_without_a_rebalance(
    coordinator: Coordinator,
) -> None:
    coordinator.join("m1", "a", instance_id="i")
    assert coordinator.beat("m1", -2, instance_id="i") == ("m1", -2, 0, None)
    coordinator.pass_time(SESSION_MS - 1)
    reply = coordinator.join("m9", "a", instance_id="i")
    assert reply == ("m9", 1, 5_000, {A: some(0, 1, 2, 3)})
    assert coordinator.group.epoch == 1
    assert list(coordinator.group.members) == ["m9"]
    coordinator.pass_time(SESSION_MS - 1)
    assert list(coordinator.group.members) == ["m9"], "the session of m1 is over, not that of m9"
    with pytest.raises(FencedInstance):
        coordinator.beat("m1", 1, instance_id="i")


def test_static_member_that_stays_away_is_fenced(coordinator: Coordinator) -> None:
    coordinator.join("m1", "a", instance_id="i")
    coordinator.beat("m1", -2, instance_id="i")
    coordinator.pass_time(SESSION_MS)
    assert coordinator.group.is_empty()


def test_instance_in_use_is_not_given_to_another(coordinator: Coordinator) -> None:
    coordinator.join("m1", "a", instance_id="i")
    with pytest.raises(UnreleasedInstance):
        coordinator.join("m2", "a", instance_id="i")
    assert coordinator.join("m1", "a", instance_id="i").member_epoch == 1, "its own join again"


def test_unknown_instance_is_refused(pair: Coordinator) -> None:
    with pytest.raises(UnknownMember):
        pair.beat("m1", 2, instance_id="i")
    with pytest.raises(UnknownMember):
        pair.beat("m1", -1, instance_id="i")


def test_static_member_may_leave_for_good(coordinator: Coordinator) -> None:
    coordinator.join("m1", "a", instance_id="i")
    coordinator.beat("m1", -1, instance_id="i")
    assert coordinator.group.is_empty()


def test_successor_of_a_static_member_takes_over_what_it_was_to_get(
    coordinator: Coordinator,
) -> None:
    coordinator.join("m1", "a")
    coordinator.join("m2", "a", instance_id="i")
    coordinator.beat("m2", -2, instance_id="i")
    assert coordinator.join("m3", "a", instance_id="i").assigned == {}
    coordinator.beat("m1", 1, owned={A: some(0, 1)})
    assert coordinator.beat("m3", 2, instance_id="i").assigned == {A: some(2, 3)}


# --- other kinds of group, restarts -------------------------------------------------------------


CLASSIC_JOIN = JoinGroup(
    "g", "", None, "c", "h", 10_000, 10_000, "consumer", (Protocol("range", b""),)
)
ADMIN_COMMIT = CommitOffsets("g", "", None, -1, [OffsetToCommit(TopicPartition("a", 0), 7, -1, "")])


def test_group_that_holds_offsets_only_becomes_a_consumer_group_and_keeps_them(
    coordinator: Coordinator,
) -> None:
    coordinator.decide(ADMIN_COMMIT)
    assert coordinator.registry.groups["g"].kind is GroupKind.CLASSIC
    coordinator.join("m1", "a")
    coordinator.restart()
    assert coordinator.group.members.keys() == {"m1"}
    assert coordinator.registry.offsets.of_group("g")[TopicPartition("a", 0)].offset == 7


def test_empty_consumer_group_becomes_a_classic_group(pair: Coordinator) -> None:
    with pytest.raises(InconsistentGroupProtocol):
        pair.decide(CLASSIC_JOIN)
    pair.beat("m1", -1)
    pair.beat("m2", -1)
    assert isinstance(pair.decide(CLASSIC_JOIN), MemberIdRequired)
    assert pair.registry.groups["g"].kind is GroupKind.CLASSIC
    assert pair.written, "the tombstones of the consumer group"
    pair.restart()
    assert pair.registry.groups == {}


def test_classic_group_with_members_is_not_taken_over(coordinator: Coordinator) -> None:
    coordinator.machine.decide(
        CLASSIC_JOIN._replace(member_id_required=False), None, coordinator.now_ms
    )
    with pytest.raises(GroupNotFound, match="not a consumer group"):
        coordinator.join("m1", "a")


def test_commit_is_taken_from_members_at_their_epoch_only(pair: Coordinator) -> None:
    commit = ADMIN_COMMIT._replace(member_id="m1", generation=2)
    assert pair.decide(commit) == [None]
    with pytest.raises(StaleMemberEpoch):
        pair.decide(commit._replace(generation=1))
    with pytest.raises(UnknownMember):
        pair.decide(ADMIN_COMMIT)
    pair.pass_time(SESSION_MS)
    with pytest.raises(UnknownMember):
        pair.decide(commit)


def test_group_goes_on_after_a_restart(pair: Coordinator) -> None:
    pair.restart()
    assert pair.beat("m1", 2) == ("m1", 2, 5_000, None)
    assert pair.written == []
    pair.pass_time(SESSION_MS)
    assert pair.group.is_empty(), "sessions are counted from the restart"


def test_revocation_is_watched_after_a_restart(coordinator: Coordinator) -> None:
    coordinator.join("m1", "a")
    coordinator.join("m2", "a")
    coordinator.beat("m1", 1, owned={A: some(0, 1, 2, 3)})
    coordinator.restart()
    coordinator.pass_time(REBALANCE_MS)
    assert list(coordinator.group.members) == ["m2"]


def test_partition_metadata_of_an_older_kafka_is_deleted_with_the_next_epoch(
    pair: Coordinator,
) -> None:
    tombstone = stored.partition_metadata_tombstone("g")
    pair.machine.replay(tombstone._replace(value=b"\0\0\1\0"))
    pair.join("m3", "a")
    assert tombstone in pair.written


def test_decision_that_is_not_written_changes_nothing(pair: Coordinator) -> None:
    pair.catalogue.put("a", A, 6)
    command = ConsumerHeartbeat("g", "m1", 2)
    lost = pair.machine.decide(command, None, pair.now_ms)
    again = pair.machine.decide(command, None, pair.now_ms)
    assert lost.records == again.records != []
    assert pair.group.epoch == 2


def test_member_whose_end_could_not_be_written_is_fenced_later(pair: Coordinator) -> None:
    pair.machine.decide(ConsumerHeartbeat("g", "m1", -1), None, pair.now_ms)
    pair.now_ms += SESSION_MS
    while pair.machine.expire_next(pair.now_ms) is not None:
        pass
    assert pair.group.members.keys() == {"m1", "m2"}, "neither leave nor expiry was written"
    pair.pass_time(1_000)
    assert pair.group.is_empty()


def test_describe_is_for_consumer_groups(pair: Coordinator) -> None:
    assert pair.decide(DescribeConsumerGroup("g")).group_epoch == 2
    with pytest.raises(GroupNotFound):
        pair.decide(DescribeConsumerGroup("other"))

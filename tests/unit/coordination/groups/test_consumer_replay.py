from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.groups import consumer_records as stored
from headrace.coordination.groups.consumer_group import ConsumerGroup
from headrace.coordination.groups.consumer_member import Member, MemberState
from headrace.coordination.groups.consumer_replay import ConsumerReplay

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.coordination.groups.registry import Group
    from headrace.coordination.shard import CoordinatorRecord

A = b"a" * 16
MEMBER = Member(
    "m",
    instance_id="i",
    client_id="c",
    client_host="h",
    topic_names=frozenset({"t"}),
    pattern="p.*",
    rebalance_timeout_ms=1_000,
    assignor="range",
    epoch=7,
    previous_epoch=6,
    state=MemberState.UNREVOKED_PARTITIONS,
    assigned={A: {0: 5}},
    revoking={A: {1: 5}},
)
RESOLVED = stored.ResolvedPattern(frozenset({"p1"}), 3, 4)
RECORDS = [
    stored.member_record("g", MEMBER),
    stored.pattern_record("g", "p.*", RESOLVED),
    stored.group_epoch_record("g", stored.GroupEpoch(8, 55)),
    stored.target_member_record("g", "m", {A: frozenset({0})}),
    stored.target_epoch_record("g", stored.TargetEpoch(8, 9)),
    stored.current_assignment_record("g", MEMBER),
]


def replay(groups: dict[str, Group], records: Iterable[CoordinatorRecord]) -> None:
    replayers = ConsumerReplay(groups).replayers()
    for key, value in records:
        replayers[int.from_bytes(key[:2], "big")](key, value)


def replayed(records: Iterable[CoordinatorRecord]) -> ConsumerGroup:
    groups: dict[str, Group] = {}
    replay(groups, records)
    group = groups["g"]
    assert isinstance(group, ConsumerGroup)
    return group


def test_records_rebuild_the_group() -> None:
    group = replayed(RECORDS)
    assert (group.epoch, group.metadata_hash, group.assignment_epoch) == (8, 55, 8)
    assert group.members == {"m": MEMBER}
    assert group.targets == {"m": {A: frozenset({0})}}
    assert group.patterns == {"p.*": RESOLVED}
    assert group.static_member("i") == MEMBER
    assert group.holder(A, 1) == "m"


def test_order_of_records_does_not_matter() -> None:
    group = replayed(reversed(RECORDS))
    assert group.members == {"m": MEMBER}
    assert group.holder(A, 0) == "m"


def test_tombstones_of_a_group_remove_all_of_it() -> None:
    groups: dict[str, Group] = {}
    replay(groups, RECORDS)
    replay(groups, groups["g"].tombstones())
    assert groups == {}


def test_tombstones_alone_make_no_group() -> None:
    groups: dict[str, Group] = {}
    replay(groups, replayed(RECORDS).tombstones())
    assert groups == {}


def test_target_epoch_tombstone_forgets_the_epoch() -> None:
    assert replayed([*RECORDS, stored.target_epoch_tombstone("g")]).assignment_epoch == 0


def test_partition_metadata_of_an_older_kafka_is_remembered_until_deleted() -> None:
    tombstone = stored.partition_metadata_tombstone("g")
    group = replayed([*RECORDS, tombstone._replace(value=b"\0\0\1\0")])
    assert group.has_partition_metadata
    assert tombstone in group.tombstones()
    assert not replayed([*RECORDS, tombstone]).has_partition_metadata

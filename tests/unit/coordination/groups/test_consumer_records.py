"""The bytes in this file were written by the record classes of Kafka 4.3."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.coordination.groups import consumer_records as stored
from headrace.coordination.groups.consumer_member import Member, MemberState
from headrace.coordination.shard import CoordinatorRecord
from headrace.model.errors import CorruptRecord

TOPIC = bytes(range(1, 17))
TOPIC_HEX = TOPIC.hex()


def record(key: str, value: str) -> CoordinatorRecord:
    return CoordinatorRecord(bytes.fromhex(key), bytes.fromhex(value))


GROUP_EPOCH = record("0003000167", "000000000007010008fffffffffffffffe")
STATIC_MEMBER = record(
    "000500016700016d",
    "00000269027202630b2f3132372e302e302e31030261026201000493e008756e69666f726d00",
)
TARGET_EPOCH = record("0006000167", "0000000000070100080000018bcfe56800")
TARGET = record("000700016700016d", f"000002{TOPIC_HEX}040000000000000001000000020000")
CURRENT = record(
    "000800016700016d",
    f"000000000007000000060102{TOPIC_HEX}030000000000000001010009030000000500000007"
    f"02{TOPIC_HEX}0200000002010005020000000400",
)
PATTERN = record("00100001670003612e2a", "0000030261036162000000000000000c0000018bcfe5680000")

MEMBER = Member(
    member_id="m",
    instance_id="i",
    rack_id="r",
    client_id="c",
    client_host="/127.0.0.1",
    topic_names=frozenset({"a", "b"}),
    rebalance_timeout_ms=300_000,
    assignor="uniform",
    epoch=7,
    previous_epoch=6,
    state=MemberState.UNREVOKED_PARTITIONS,
    assigned={TOPIC: {0: 5, 1: 7}},
    revoking={TOPIC: {2: 4}},
)
RESOLVED = stored.ResolvedPattern(frozenset({"a", "ab"}), 12, 1_700_000_000_000)


def test_records_are_written_as_kafka_writes_them() -> None:
    assert stored.group_epoch_record("g", stored.GroupEpoch(7, -2)) == GROUP_EPOCH
    assert stored.member_record("g", MEMBER) == STATIC_MEMBER
    target_epoch = stored.TargetEpoch(7, 1_700_000_000_000)
    assert stored.target_epoch_record("g", target_epoch) == TARGET_EPOCH
    target = {TOPIC: frozenset({2, 0, 1})}
    assert stored.target_member_record("g", "m", target) == TARGET
    assert stored.current_assignment_record("g", MEMBER) == CURRENT
    assert stored.pattern_record("g", "a.*", RESOLVED) == PATTERN


def test_group_epoch_without_topics_has_no_hash() -> None:
    written = stored.group_epoch_record("g", stored.GroupEpoch(7))
    assert written.value == bytes.fromhex("00000000000700")


def test_tombstones_have_kafkas_keys() -> None:
    keys = [record.key.hex() for record in stored.member_tombstones("g", "m")]
    assert keys == ["000800016700016d", "000700016700016d", "000500016700016d"]
    assert stored.pattern_tombstone("g", "a.*") == (PATTERN.key, None)
    assert stored.partition_metadata_tombstone("g") == (bytes.fromhex("0004000167"), None)
    assert stored.target_epoch_tombstone("g") == (TARGET_EPOCH.key, None)
    assert stored.group_epoch_tombstone("g") == (GROUP_EPOCH.key, None)


def value_of(record: CoordinatorRecord) -> bytes:
    assert record.value is not None
    return record.value


def test_records_of_kafka_are_read() -> None:
    assert stored.read_group_key(GROUP_EPOCH.key) == "g"
    assert stored.read_member_key(CURRENT.key) == ("g", "m")
    assert stored.read_member_key(PATTERN.key) == ("g", "a.*")
    assert stored.read_group_epoch(value_of(GROUP_EPOCH)) == stored.GroupEpoch(7, -2)
    read = stored.read_member("m", value_of(STATIC_MEMBER))
    assert read == MEMBER._replace(
        epoch=0, previous_epoch=0, state=MemberState.STABLE, assigned={}, revoking={}
    )
    assert stored.read_target_epoch(value_of(TARGET_EPOCH)).epoch == 7
    assert stored.read_target_member(value_of(TARGET)) == {TOPIC: frozenset({0, 1, 2})}
    assert stored.read_current_assignment(value_of(CURRENT)) == stored.CurrentAssignment(
        7, 6, MemberState.UNREVOKED_PARTITIONS, {TOPIC: {0: 5, 1: 7}}, {TOPIC: {2: 4}}
    )
    assert stored.read_pattern(value_of(PATTERN)) == RESOLVED


def test_member_with_a_pattern_and_nulls_is_read() -> None:
    value = bytes.fromhex("0000000272026302680104612e2affffffff0000")
    assert stored.read_member("m", value) == Member(
        "m", rack_id="r", client_id="c", client_host="h", pattern="a.*"
    )


def test_member_that_came_from_a_classic_group_is_read_as_a_consumer() -> None:
    value = bytes.fromhex(
        "000000000263026802026101000003e800010011010000afc8020672616e67650301020000"
    )
    member = stored.read_member("m", value)
    assert member.topic_names == {"a"}
    assert member.rebalance_timeout_ms == 1_000


def test_assignment_without_epochs_gets_that_of_the_member() -> None:
    value = bytes.fromhex(
        f"0000000000070000000600 02{TOPIC_HEX}03000000000000000100 01 00".replace(" ", "")
    )
    assert stored.read_current_assignment(value).assigned == {TOPIC: {0: 7, 1: 7}}


def test_state_of_a_newer_version_is_unknown() -> None:
    value = bytearray(value_of(CURRENT))
    value[10] = 9
    assert stored.read_current_assignment(bytes(value)).state is MemberState.UNKNOWN


def test_value_of_another_version_is_refused() -> None:
    with pytest.raises(CorruptRecord, match="version 1"):
        stored.read_group_epoch(b"\0\1" + value_of(GROUP_EPOCH)[2:])


@given(st.sampled_from([GROUP_EPOCH, STATIC_MEMBER, TARGET, CURRENT, PATTERN]), st.data())
def test_cut_record_is_refused(whole: CoordinatorRecord, data: st.DataObject) -> None:
    readers = {
        GROUP_EPOCH: stored.read_group_epoch,
        STATIC_MEMBER: lambda value: stored.read_member("m", value),
        TARGET: stored.read_target_member,
        CURRENT: stored.read_current_assignment,
        PATTERN: stored.read_pattern,
    }
    value = value_of(whole)
    cut = data.draw(st.integers(0, len(value) - 2))
    with pytest.raises(CorruptRecord):
        readers[whole](value[:cut])

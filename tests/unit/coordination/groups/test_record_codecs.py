"""Group and offset records, byte for byte as Kafka 4.3's own classes write them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.coordination.groups.record_codecs import (
    group_key,
    group_record,
    offset_key,
    offset_record,
    read_group,
    read_group_key,
    read_offset,
    read_offset_key,
)
from headrace.coordination.groups.records import (
    NO_TIMESTAMP,
    CommittedOffset,
    StoredGroup,
    StoredMember,
)
from headrace.model.errors import CorruptRecord
from headrace.model.topic import NO_TOPIC_ID, TopicPartition

OFFSET = CommittedOffset(1_234_567_890_123, 5, "méta", 1_700_000_000_000)
TOPIC_ID = bytes(range(1, 17))
KAFKA_OFFSETS = {
    0: "00000000011f71fb04cb00056dc3a974610000018bcfe56800",
    1: "00010000011f71fb04cb00056dc3a974610000018bcfe568000000018bcfe58f0f",
    2: "00020000011f71fb04cb00056dc3a974610000018bcfe56800",
    3: "00030000011f71fb04cb0000000500056dc3a974610000018bcfe56800",
    4: "00040000011f71fb04cb00000005066dc3a974610000018bcfe5680000",
}
KAFKA_OFFSET_WITH_ID = KAFKA_OFFSETS[4][:-2] + "010010" + TOPIC_ID.hex()

GROUP = StoredGroup(
    "consumer",
    42,
    "range",
    "m-1",
    1_700_000_000_000,
    (
        StoredMember(
            "m-1", "i-1", "c", "/127.0.0.1", 300_000, 45_000, b"\x00\x01", b"\x02\x03\x04"
        ),
        StoredMember("m-2", None, "d", "/10.0.0.1", 60_000, 10_000, b"", b""),
    ),
)
KAFKA_GROUPS = {
    0: "00000008636f6e73756d65720000002a000572616e676500036d2d310000000200036d2d31000163000a2f"
    "3132372e302e302e310000afc80000000200010000000302030400036d2d3200016400092f31302e302e302e31"
    "000027100000000000000000",
    1: "00010008636f6e73756d65720000002a000572616e676500036d2d310000000200036d2d31000163000a2f"
    "3132372e302e302e31000493e00000afc80000000200010000000302030400036d2d3200016400092f31302e30"
    "2e302e310000ea60000027100000000000000000",
    2: "00020008636f6e73756d65720000002a000572616e676500036d2d310000018bcfe56800000000020003"
    "6d2d31000163000a2f3132372e302e302e31000493e00000afc80000000200010000000302030400036d2d3200"
    "016400092f31302e302e302e310000ea60000027100000000000000000",
    3: "00030008636f6e73756d65720000002a000572616e676500036d2d310000018bcfe56800000000020003"
    "6d2d310003692d31000163000a2f3132372e302e302e31000493e00000afc80000000200010000000302030400"
    "036d2d32ffff00016400092f31302e302e302e310000ea60000027100000000000000000",
    4: "000409636f6e73756d65720000002a0672616e6765046d2d310000018bcfe5680003046d2d3104692d3102"
    "630b2f3132372e302e302e31000493e00000afc80300010402030400046d2d320002640a2f31302e302e302e31"
    "0000ea600000271001010000",
}
KAFKA_EMPTY_GROUP = "0003000000000000ffffffff000000000000000900000000"


def test_keys_are_kafkas() -> None:
    partition = TopicPartition("orders", 7)
    kafka_key = bytes.fromhex("000100056772c3bc6e00066f726465727300000007")
    assert offset_key("grün", partition) == kafka_key
    assert read_offset_key(kafka_key) == ("grün", partition)
    assert group_key("grün").hex() == "000200056772c3bc6e"
    assert read_group_key(group_key("grün")) == "grün"


def test_offset_is_written_as_kafka_writes_it() -> None:
    partition = TopicPartition("orders", 7)
    expiring = OFFSET._replace(expire_timestamp_ms=1_700_000_009_999)
    identified = OFFSET._replace(topic_id=TOPIC_ID)
    written = [offset_record("g", partition, each).value for each in (OFFSET, expiring, identified)]
    expected = [KAFKA_OFFSETS[4], KAFKA_OFFSETS[1], KAFKA_OFFSET_WITH_ID]
    assert [value.hex() for value in written if value is not None] == expected


@pytest.mark.parametrize("version", KAFKA_OFFSETS)
def test_offset_of_every_version_is_read(version: int) -> None:
    committed = read_offset(bytes.fromhex(KAFKA_OFFSETS[version]))
    assert committed.offset == OFFSET.offset
    assert committed.metadata == "méta"
    assert committed.commit_timestamp_ms == OFFSET.commit_timestamp_ms
    assert committed.leader_epoch == (5 if version >= 3 else -1)
    assert committed.expire_timestamp_ms == (1_700_000_009_999 if version == 1 else NO_TIMESTAMP)
    assert committed.topic_id == NO_TOPIC_ID


def test_topic_id_of_offset_is_read() -> None:
    assert read_offset(bytes.fromhex(KAFKA_OFFSET_WITH_ID)).topic_id == TOPIC_ID


@given(
    st.integers(0, 2**63 - 1),
    st.integers(-1, 2**31 - 1),
    st.text(max_size=300),
    st.integers(0, 2**62),
    st.sampled_from([NO_TIMESTAMP, 77]),
    st.sampled_from([NO_TOPIC_ID, TOPIC_ID]),
)
def test_offset_survives_writing_and_reading(
    offset: int, epoch: int, metadata: str, time_ms: int, expire_ms: int, topic_id: bytes
) -> None:
    if expire_ms != NO_TIMESTAMP:
        epoch, topic_id = -1, NO_TOPIC_ID  # version 1 has no room for them
    committed = CommittedOffset(offset, epoch, metadata, time_ms, expire_ms, topic_id)
    value = offset_record("g", TopicPartition("t", 0), committed).value
    assert value is not None
    assert read_offset(value) == committed


def test_group_is_written_as_kafka_writes_it() -> None:
    value = group_record("g", GROUP).value
    assert value is not None
    assert value.hex() == KAFKA_GROUPS[3]
    empty = group_record("g", StoredGroup("", 0, None, None, 9, ())).value
    assert empty is not None
    assert empty.hex() == KAFKA_EMPTY_GROUP


@pytest.mark.parametrize("version", KAFKA_GROUPS)
def test_group_of_every_version_is_read(version: int) -> None:
    expected = GROUP
    if version < 3:
        members = tuple(each._replace(instance_id=None) for each in expected.members)
        expected = expected._replace(members=members)
    if version < 2:
        expected = expected._replace(state_timestamp_ms=NO_TIMESTAMP)
    if version < 1:
        members = tuple(
            each._replace(rebalance_timeout_ms=each.session_timeout_ms) for each in expected.members
        )
        expected = expected._replace(members=members)
    assert read_group(bytes.fromhex(KAFKA_GROUPS[version])) == expected


@pytest.mark.parametrize("version", [-1, 5])
def test_unknown_version_is_refused(version: int) -> None:
    value = version.to_bytes(2, "big", signed=True) + bytes(60)
    with pytest.raises(CorruptRecord):
        read_group(value)
    with pytest.raises(CorruptRecord):
        read_offset(value)


@given(st.binary(max_size=80))
def test_garbage_is_a_named_error_or_a_value(garbage: bytes) -> None:
    for read in (read_group, read_offset, read_group_key, read_offset_key):
        with suppress(CorruptRecord):
            assert read(garbage) is not None


def test_cut_records_are_refused() -> None:
    for text in (KAFKA_GROUPS[3], KAFKA_GROUPS[4], KAFKA_OFFSETS[4], KAFKA_OFFSET_WITH_ID):
        whole = bytes.fromhex(text)
        read = read_offset if text in (KAFKA_OFFSETS[4], KAFKA_OFFSET_WITH_ID) else read_group
        for length in range(len(whole) - 1):
            with pytest.raises(CorruptRecord):
                read(whole[:length])

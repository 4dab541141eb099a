"""Frames that a Kafka 4.3 controller wrote are read; what we write is read back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.coordination.metadata.record_codec import decode, encode
from headrace.coordination.metadata.records import (
    NO_LEADER,
    ConfigRecord,
    FeatureLevelRecord,
    ForeignRecord,
    MembershipRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RecordType,
    RemoveTopicRecord,
    ResourceType,
    TopicRecord,
    TransactionRecord,
    UnknownRecord,
)
from headrace.model.errors import CorruptRecord, UnsupportedVersion

ORDERS = bytes.fromhex("aaa21ea5dca34f4e84916ec5d7d8ade5")
DIRECTORY = bytes.fromhex("76a5039731e64c2ba2fe891ed0fe8bed")

# Written by Apache Kafka 4.3.0, node 5.
WRITTEN_BY_KAFKA = [
    (
        "01170001001212426f6f747374726170207265636f726473",
        TransactionRecord(RecordType.BEGIN_TRANSACTION),
    ),
    ("01180000", TransactionRecord(RecordType.END_TRANSACTION)),
    ("01140000", MembershipRecord(RecordType.NO_OP)),
    (
        "01110300000005000000000000000f01030101",
        MembershipRecord(RecordType.BROKER_REGISTRATION_CHANGE),
    ),
    (
        "010c00116d657461646174612e76657273696f6e001e00",
        FeatureLevelRecord("metadata.version", 30),
    ),
    (
        "0104000401146d696e2e696e73796e632e7265706c69636173023100",
        ConfigRecord(ResourceType.BROKER, "", "min.insync.replicas", "1"),
    ),
    ("010200076f7264657273aaa21ea5dca34f4e84916ec5d7d8ade500", TopicRecord("orders", ORDERS)),
    (
        "01030200000000aaa21ea5dca34f4e84916ec5d7d8ade502000000050200000005010100000005"
        "00000000000000000276a5039731e64c2ba2fe891ed0fe8bed00",
        PartitionRecord(0, ORDERS, (5,), (5,), 5, 0, 0, (DIRECTORY,)),
    ),
    (
        "01050200000000aaa21ea5dca34f4e84916ec5d7d8ade504"
        "0001010104ffffffff0605020000000507050200000005",
        PartitionChangeRecord(0, ORDERS, leader=NO_LEADER, in_sync=()),
    ),
    (
        "010900f04625a47444434595901100b9b2a11300",
        RemoveTopicRecord(bytes.fromhex("f04625a47444434595901100b9b2a113")),
    ),
    ("010f0000000005000000000000000f00000000000003e800", ProducerIdsRecord(5, 1000)),
]


@pytest.mark.parametrize(("frame", "record"), WRITTEN_BY_KAFKA)
def test_record_of_kafka_is_decoded(frame: str, record: Any) -> None:
    assert decode(bytes.fromhex(frame)) == record


def test_record_of_a_feature_that_is_not_served_stays_as_it_is() -> None:
    frame = b"\x01\x0a\x00whatever a delegation token is"
    record = decode(frame)
    assert record == ForeignRecord(RecordType.DELEGATION_TOKEN, frame)
    assert encode(record) == frame


def test_record_of_an_unknown_type_is_told_by_its_number() -> None:
    assert decode(b"\x01\x63\x00\x00") == UnknownRecord(99)


def test_setting_of_an_unknown_kind_of_resource_is_kept() -> None:
    frame = bytes.fromhex("0104006301146d696e2e696e73796e632e7265706c69636173023100")
    assert decode(frame) == ForeignRecord(RecordType.CONFIG, frame)


def test_taking_leadership_leaves_no_eligible_leaders_beside_the_leader() -> None:
    record = PartitionChangeRecord(0, ORDERS, leader=5, in_sync=(5,))
    assert encode(record).hex() == (
        "01050200000000aaa21ea5dca34f4e84916ec5d7d8ade504"
        "0005020000000501040000000506010107" + "0101"
    )


def test_version_from_the_future_is_refused() -> None:
    with pytest.raises(UnsupportedVersion, match="TOPIC in version 7"):
        decode(b"\x01\x02\x07\x01")


def test_frame_version_from_the_future_is_refused() -> None:
    with pytest.raises(UnsupportedVersion, match="frame version 2"):
        decode(b"\x02\x02\x00\x01")


@pytest.mark.parametrize("cut", range(4, 27))
def test_frame_that_is_cut_off_is_refused(cut: int) -> None:
    frame = encode(TopicRecord("orders", ORDERS))
    with pytest.raises(CorruptRecord):
        decode(frame[:cut])


def test_bytes_behind_a_record_are_refused() -> None:
    with pytest.raises(CorruptRecord, match="left"):
        decode(encode(RemoveTopicRecord(ORDERS)) + b"\x00")


numbers = st.integers(-(2**31), 2**31 - 1)
node_lists = st.lists(numbers, max_size=3).map(tuple)
uuids = st.binary(min_size=16, max_size=16)
uuid_lists = st.lists(uuids, max_size=3).map(tuple)
records = st.one_of(
    st.builds(TopicRecord, st.text(), uuids),
    st.builds(
        PartitionRecord,
        numbers,
        uuids,
        node_lists,
        node_lists,
        numbers,
        numbers,
        numbers,
        uuid_lists,
    ),
    st.builds(
        PartitionChangeRecord,
        numbers,
        uuids,
        numbers,
        st.none() | node_lists,
        st.none() | node_lists,
        st.none() | uuid_lists,
    ),
    st.builds(
        ConfigRecord, st.sampled_from(ResourceType), st.text(), st.text(), st.none() | st.text()
    ),
    st.builds(RemoveTopicRecord, uuids),
    st.builds(FeatureLevelRecord, st.text(), st.integers(-(2**15), 2**15 - 1)),
    st.builds(ProducerIdsRecord, numbers, st.integers(0, 2**63 - 1)),
)


@given(records)
def test_what_is_encoded_is_decoded(record: Any) -> None:
    assert decode(encode(record)) == record

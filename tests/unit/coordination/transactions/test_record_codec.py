import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.coordination.transactions.record_codec import (
    as_stored,
    read_transaction,
    read_transaction_key,
    transaction_key,
    transaction_record,
    transaction_tombstone,
    value_version,
)
from headrace.coordination.transactions.records import Transaction
from headrace.coordination.transactions.states import TransactionState
from headrace.model.errors import CorruptRecord
from headrace.model.topic import TopicPartition

ONGOING = Transaction(
    "tx",
    producer_id=5,
    producer_epoch=3,
    timeout_ms=60_000,
    updated_ms=2,
    state=TransactionState.ONGOING,
    partitions=frozenset({TopicPartition("b", 7), TopicPartition("a", 1), TopicPartition("a", 0)}),
    start_ms=1,
    previous_producer_id=4,
    next_producer_id=6,
    client_version=2,
)
HEAD = "0000000000000005 0003 0000ea60 01"
TIMES = "0000000000000002 0000000000000001"
GOLDEN_V0 = bytes.fromhex(
    f"0000 {HEAD} 00000002 0001 61 00000002 00000000 00000001 0001 62 00000001 00000007 {TIMES}"
)
GOLDEN_V1 = bytes.fromhex(
    f"0001 {HEAD} 03 02 61 03 00000000 00000001 00 02 62 02 00000007 00 {TIMES}"
    "03 00 08 0000000000000004 01 08 0000000000000006 02 02 0002"
)

PARTITIONS = st.frozensets(
    st.builds(TopicPartition, st.sampled_from(["a", "b.c", "ü"]), st.integers(0, 2**31 - 1)),
    max_size=6,
)


def test_key_is_version_zero_and_a_string():
    assert transaction_key("tx") == bytes.fromhex("0000 0002 7478")
    assert read_transaction_key(bytes.fromhex("0000 0002 7478")) == "tx"


def test_key_of_another_kind_is_told_apart():
    assert read_transaction_key(bytes.fromhex("0009 0002 7478")) is None


def test_version_1_is_byte_for_byte_what_the_schema_says():
    assert transaction_record(ONGOING, 1).value == GOLDEN_V1
    assert read_transaction("tx", GOLDEN_V1) == ONGOING


def test_version_0_has_no_tagged_fields():
    assert transaction_record(ONGOING, 0).value == GOLDEN_V0
    plain = ONGOING._replace(previous_producer_id=-1, next_producer_id=-1, client_version=0)
    assert read_transaction("tx", GOLDEN_V0) == plain


@pytest.mark.parametrize(("transaction_version", "expected"), [(0, 0), (1, 1), (2, 1)])
def test_version_of_the_value_follows_the_finalised_feature(transaction_version, expected):
    assert value_version(transaction_version) == expected


@pytest.mark.parametrize("version", [0, 1])
def test_empty_writes_null_and_complete_writes_an_empty_list(version):
    empty = Transaction("tx", 5, 3, 60_000, 2)
    complete = empty._replace(state=TransactionState.COMPLETE_COMMIT)
    head_bytes = 2 + 8 + 2 + 4 + 1
    array_bytes = 4 if version == 0 else 1
    arrays = [
        transaction_record(each, version).value[head_bytes : head_bytes + array_bytes]
        for each in (empty, complete)
    ]
    assert arrays == ([b"\xff" * 4, b"\x00" * 4] if version == 0 else [b"\x00", b"\x01"])
    assert read_transaction("tx", transaction_record(empty, version).value) == empty


def test_unknown_tagged_field_is_left_alone():
    """Later brokers add some: KIP-939 has the next epoch as tag 3."""
    value = GOLDEN_V1.replace(b"\x03\x00\x08", b"\x04\x00\x08") + bytes.fromhex("03 02 0001")
    assert read_transaction("tx", value) == ONGOING


def test_tombstone_has_no_value():
    assert transaction_tombstone("tx") == (transaction_key("tx"), None)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\x00\x02" + GOLDEN_V1[2:],
        b"\xff\xff" + GOLDEN_V1[2:],
        GOLDEN_V1[:16] + b"\x08" + GOLDEN_V1[17:],
        GOLDEN_V1[:-1],
        GOLDEN_V1[:-10] + bytes.fromhex("02 01 00") + GOLDEN_V1[-10:],
    ],
)
def test_damaged_value_is_refused(value):
    with pytest.raises(CorruptRecord):
        read_transaction("tx", value)


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused_by_name(data):
    assert outcome(read_transaction, "tx", data) in (Transaction, CorruptRecord)
    assert outcome(read_transaction_key, data) in (str, type(None), CorruptRecord)


@given(st.data())
def test_damaged_record_is_read_or_refused_by_name(draw):
    at = draw.draw(st.integers(0, len(GOLDEN_V1) - 1))
    data = GOLDEN_V1[:at] + draw.draw(st.binary(min_size=1, max_size=4)) + GOLDEN_V1[at + 1 :]
    assert outcome(read_transaction, "tx", data) in (Transaction, CorruptRecord)


def outcome(read, *arguments):
    """The type of what it returns, or of the one error that it may raise."""
    try:
        return type(read(*arguments))
    except CorruptRecord:
        return CorruptRecord


@given(
    PARTITIONS,
    st.sampled_from(TransactionState),
    st.integers(-1, 2**63 - 1),
    st.integers(-1, 2**15 - 1),
    st.integers(0, 1),
)
def test_what_was_written_is_read_again(partitions, state, producer_id, epoch, version):
    transaction = ONGOING._replace(
        partitions=partitions, state=state, next_producer_id=producer_id, producer_epoch=epoch
    )
    written = transaction_record(transaction, version).value
    assert read_transaction("tx", written) == as_stored(transaction, version)


def test_a_record_has_room_for_all_but_the_epoch_before():
    transaction = ONGOING._replace(last_epoch=2)
    assert as_stored(transaction, 1) == transaction
    assert as_stored(transaction, 0).last_epoch == 2
    assert as_stored(transaction, 0).client_version == 0

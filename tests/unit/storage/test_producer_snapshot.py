"""Producer snapshots, version 1."""

from __future__ import annotations

import pytest
from crc32c import crc32c

from headrace.model.errors import DamagedLog
from headrace.storage.producer_snapshot import decode_snapshot, encode_snapshot
from headrace.storage.producer_state import SEQUENCE_MASK, KnownBatch, Producer

# One producer, encoded by hand after Kafka's schema, without version and checksum: the count, then
# id, epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch, and the first
# offset of the open transaction.
BODY = bytes.fromhex(
    "00000001"
    "0000000000000007 0003 00000009 0000000000000064 00000002 00000000000003e8"
    "ffffffff ffffffffffffffff"
)


def producer() -> Producer:
    made = Producer(7, 3)
    made.batches.append(KnownBatch(7, 9, 98, 100, 1000))
    made.last_timestamp_ms = 1000
    made.next_sequence = 10
    return made


def test_bytes_are_those_of_kafkas_schema():
    data = encode_snapshot([producer()])
    assert data == b"\x00\x01" + crc32c(BODY).to_bytes(4, "big") + BODY
    assert len(data) == 10 + 46


def test_all_known_batches_come_back_and_the_last_entry_is_the_last_batch():
    """Kafka reads entry after entry: the last one of a producer is what it takes."""
    made = producer()
    for number in range(6):
        made.batches.append(KnownBatch(10 + number, 10 + number, 101 + number, 101 + number, 2000))
    made.transaction_start, made.next_sequence, made.last_timestamp_ms = 99, 16, 2000
    data = encode_snapshot([made, Producer(8, 0)])
    assert len(data) == 10 + 6 * 46
    found, other = decode_snapshot(data, "x")
    assert list(found.batches) == list(made.batches)
    assert (found.next_sequence, found.transaction_start) == (16, 99)
    assert (other.producer_id, len(other.batches)) == (8, 0)


def test_batches_of_an_older_epoch_are_left_behind():
    old, new = producer(), Producer(7, 4)
    new.batches.append(KnownBatch(0, 0, 101, 101, 1000))
    new.last_timestamp_ms = 1000
    (found,) = decode_snapshot(encode_snapshot([old, new]), "x")
    assert (found.epoch, list(found.batches)) == (4, [KnownBatch(0, 0, 101, 101, 1000)])


def test_producer_comes_back_with_its_last_batch():
    (found,) = decode_snapshot(encode_snapshot([producer()]), "x")
    assert (found.producer_id, found.epoch, found.next_sequence) == (7, 3, 10)
    assert list(found.batches) == [KnownBatch(7, 9, 98, 100, 1000)]
    assert (found.coordinator_epoch, found.transaction_start) == (-1, -1)


def test_sequence_that_wrapped_comes_back():
    wrapped = producer()
    wrapped.batches.append(KnownBatch(SEQUENCE_MASK, 1, 101, 103, 1000))
    (found,) = decode_snapshot(encode_snapshot([wrapped]), "x")
    assert found.batches[-1].base_sequence == SEQUENCE_MASK


def test_producer_without_batches_comes_back():
    marked = Producer(5, 1)
    marked.coordinator_epoch = 4
    marked.transaction_start = 12
    (found,) = decode_snapshot(encode_snapshot([marked]), "x")
    assert (len(found.batches), found.coordinator_epoch, found.transaction_start) == (0, 4, 12)


def test_no_producers_take_ten_bytes():
    assert len(encode_snapshot([])) == 10
    assert decode_snapshot(encode_snapshot([]), "x") == []


@pytest.mark.parametrize("position", range(0, 56, 5))
def test_any_flipped_bit_is_noticed(position):
    data = bytearray(encode_snapshot([producer()]))
    data[position] ^= 4
    with pytest.raises(DamagedLog, match="some-file"):
        decode_snapshot(bytes(data), "some-file")


@pytest.mark.parametrize("length", [0, 5, 9, 30])
def test_short_file_is_noticed(length):
    with pytest.raises(DamagedLog):
        decode_snapshot(encode_snapshot([producer()])[:length], "x")

"""Batches of other libraries are read; damaged ones raise a named error and nothing else."""

from __future__ import annotations

import contextlib
import struct

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

from headrace.model.errors import (
    CorruptRecord,
    InvalidRecord,
    RecordTooLarge,
    UnsupportedCompression,
)
from headrace.records.build import assemble, build_batch
from headrace.records.compression import Compression, compress
from headrace.records.decode import decode_records, null_key_indexes
from headrace.records.header import HEADER_SIZE, read_header, stamp_crc
from headrace.records.record import Header, Record

CODECS = list(Compression)
NAMED = (CorruptRecord, InvalidRecord, RecordTooLarge, UnsupportedCompression)
RECORDS = [
    Record(0, 1000, b"key", b"value" * 20, (Header("h", b"1"), Header("ü", None))),
    Record(1, 900, None, b""),
    Record(2, 1 << 45, b"", None),
]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("builder_class", [KafkaPythonBuilder, AiokafkaBuilder])
def test_batches_of_others_are_read(builder_class: type, codec: Compression) -> None:
    builder = builder_class(
        magic=2,
        compression_type=codec,
        is_transactional=0,
        producer_id=7,
        producer_epoch=1,
        base_sequence=4,
        batch_size=1 << 20,
    )
    for record in RECORDS:
        builder.append(
            record.offset,
            record.timestamp_ms,
            record.key,
            record.value,
            [tuple(header) for header in record.headers],
        )
    batch = bytes(builder.build())
    assert decode_records(batch) == RECORDS
    assert read_header(batch).last_sequence == 6


@pytest.mark.parametrize("codec", CODECS)
def test_any_flipped_byte_is_named_or_outside_of_the_checksum(codec: Compression) -> None:
    batch = bytes(build_batch(RECORDS, compression=codec))
    for index in range(len(batch)):
        damaged = bytearray(batch)
        damaged[index] ^= 0x55
        outside_of_checksum = index < 8 or 12 <= index < 16
        if outside_of_checksum:
            assert [r.value for r in decode_records(damaged)] == [r.value for r in RECORDS]
        else:
            with pytest.raises(CorruptRecord):
                decode_records(damaged)


@pytest.mark.parametrize("codec", CODECS)
@given(data=st.data())
def test_damage_with_a_right_checksum_raises_named_errors_only(
    codec: Compression, data: st.DataObject
) -> None:
    batch = build_batch(RECORDS, compression=codec)
    for _ in range(data.draw(st.integers(1, 4))):
        index = data.draw(st.integers(21, len(batch) - 1))
        batch[index] = data.draw(st.integers(0, 255))
    stamp_crc(batch, 0, len(batch))
    with contextlib.suppress(*NAMED):
        assert len(decode_records(batch, size_max=100_000)) == read_header(batch).record_count


@given(st.binary(max_size=200), st.integers(-5, 50), st.integers(-1, 50))
def test_arbitrary_records_raise_named_errors_only(body: bytes, count: int, delta: int) -> None:
    template = read_header(build_batch([(b"k", b"v")]))
    batch = assemble(template._replace(record_count=count, last_offset_delta=delta), body)
    for read in (decode_records, null_key_indexes):
        with contextlib.suppress(*NAMED):
            assert len(read(batch)) <= max(count, 0)


@given(st.binary(max_size=150))
def test_arbitrary_bytes_raise_named_errors_only(garbage: bytes) -> None:
    with pytest.raises(NAMED):
        decode_records(garbage)


def test_a_cut_or_prolonged_batch_is_corrupt() -> None:
    batch = bytes(build_batch(RECORDS))
    for wrong in (batch[:-1], batch + b"x"):
        with pytest.raises(CorruptRecord, match="claims"):
            decode_records(wrong)


def rebuilt(**changes: int) -> bytearray:
    batch = build_batch(RECORDS)
    return assemble(read_header(batch)._replace(**changes), batch[HEADER_SIZE:])


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"record_count": 2}, "left after the last record"),
        ({"record_count": 4}, "varint"),
        ({"record_count": 1 << 30}, "do not fit"),
        ({"record_count": -1}, "record count -1"),
        ({"last_offset_delta": 1}, "offset delta 2 after 1"),
    ],
)
def test_header_that_contradicts_the_records_is_named(
    changes: dict[str, int], complaint: str
) -> None:
    with pytest.raises((InvalidRecord, CorruptRecord), match=complaint):
        decode_records(rebuilt(**changes))


def test_offsets_that_do_not_rise_are_invalid() -> None:
    twice = [Record(0, 1, None, b"a"), Record(0, 1, None, b"b")]
    with pytest.raises(InvalidRecord, match="offset delta 0 after 0"):
        decode_records(build_batch(twice, last_offset=5))


def test_bomb_is_too_large_for_the_bound() -> None:
    header = read_header(build_batch([(b"k", b"v")], compression=Compression.ZSTD))
    bomb = assemble(header, compress(Compression.ZSTD, bytes(10_000_000)))
    with pytest.raises(RecordTooLarge, match="1000"):
        decode_records(bomb, size_max=1000)


def test_checksum_can_be_left_to_the_caller() -> None:
    batch = build_batch(RECORDS)
    batch[17] ^= 1
    assert decode_records(batch, check_crc=False) == RECORDS


def test_control_batches_are_decoded() -> None:
    key, value = struct.pack(">hh", 0, 1), struct.pack(">hi", 0, 3)
    batch = build_batch([(key, value)], control=True, transactional=True, producer_id=1)
    assert [(r.key, r.value) for r in decode_records(batch)] == [(key, value)]


@pytest.mark.parametrize("codec", CODECS)
def test_null_keys_are_found(codec: Compression) -> None:
    batch = build_batch([(b"a", b""), (None, b"x"), (b"", None), (None, None)], compression=codec)
    assert null_key_indexes(batch) == [1, 3]

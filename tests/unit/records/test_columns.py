"""Columns are what the plain decoder reads, batch by batch; what it refuses is handed back.

Everything here runs twice: on the compiled loop and on plain Python.
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

from headrace.records.build import build_batch, build_empty_batch
from headrace.records.columns import COLUMNS, SCHEMA, ColumnDecoder
from headrace.records.compression import Compression
from headrace.records.decode import decode_records
from headrace.records.header import read_header
from headrace.records.record import Header, Record

if TYPE_CHECKING:
    from collections.abc import Iterable

ENDLESS = 2**62
MAX_MS = (2**63 - 1) // 1000
RECORDS = [
    Record(
        0, 1000, b"key", b"value" * 20, (Header("h", b"1"), Header("ü", None), Header("h", b""))
    ),
    Record(1, 900, None, b""),
    Record(2, 1 << 45, b"", None, (Header("", b"\xff"),)),
]


class Aborted(NamedTuple):
    """What an entry of a transaction index looks like here."""

    producer_id: int
    first_offset: int
    last_offset: int


@pytest.fixture(scope="module", params=[True, False], ids=["compiled", "plain"])
def is_compiled(request):
    return request.param


def decode(data, *, is_compiled=True, start=0, end=ENDLESS, aborted=(), **settings):
    decoder = ColumnDecoder(is_compiled=is_compiled, **settings)
    columns = decoder.decode(data, start=start, end=end, aborted=aborted)
    columns.batch.validate(full=True)
    return columns


def rows_of(records: Iterable[Record], timestamp_type: int = 0) -> list[dict]:
    """What the columns should hold, in Arrow's own terms."""
    return [
        {
            "key": record.key,
            "value": record.value,
            "offset": record.offset,
            "timestamp": record.timestamp_ms * 1000,
            "timestamp_type": timestamp_type,
            "headers": [header._asdict() for header in record.headers] or None,
        }
        for record in records
    ]


def rows_in(batch: pa.RecordBatch) -> list[dict]:
    """As numbers: most timestamps of these tests lie outside of what Python's datetime knows."""
    if "timestamp" in batch.schema.names:
        index = batch.schema.names.index("timestamp")
        batch = batch.set_column(index, "timestamp", batch.column(index).cast(pa.int64()))
    return batch.to_pylist()


# --- against the plain decoder ------------------------------------------------------------------

maybe_bytes = st.none() | st.binary(max_size=300)
headers = st.lists(st.tuples(st.text(max_size=8), maybe_bytes), max_size=4)
timestamps = st.integers(-MAX_MS, MAX_MS) | st.integers(1_700_000_000_000, 1_700_000_100_000)


@st.composite
def logs(draw: st.DrawFn) -> tuple[bytes, list[dict]]:
    """Some batches with holes between and inside them, and the rows that are in them."""
    data, rows, offset = bytearray(), [], draw(st.integers(0, 1000))
    for _ in range(draw(st.integers(0, 5))):
        base_offset = offset
        records = []
        for _ in range(draw(st.integers(1, 12))):
            offset += draw(st.integers(0, 3))
            pairs = tuple(Header(*pair) for pair in draw(headers))
            key, value = draw(maybe_bytes), draw(maybe_bytes)
            records.append(Record(offset, draw(timestamps), key, value, pairs))
            offset += 1
        offset += draw(st.integers(0, 3))
        append_time = draw(st.none() | timestamps)
        batch = build_batch(
            records,
            base_offset=base_offset,
            last_offset=offset - 1,
            compression=draw(st.sampled_from(Compression)),
            log_append_time_ms=append_time,
        )
        data += batch
        rows += rows_of(decode_records(batch), int(append_time is not None))
    return bytes(data), rows


@given(log=logs(), data=st.data())
def test_columns_hold_what_the_plain_decoder_reads(is_compiled, log, data):
    batches, rows = log
    start = data.draw(st.integers(0, 1100))
    end = data.draw(st.integers(start, 1200))
    chosen = data.draw(st.lists(st.sampled_from(COLUMNS), min_size=1, unique=True))
    found = decode(batches, is_compiled=is_compiled, start=start, end=end, columns=chosen)
    wanted = [row for row in rows if start <= row["offset"] < end]
    assert rows_in(found.batch) == [{name: row[name] for name in chosen} for row in wanted]
    assert found.batch.schema == pa.schema([SCHEMA.field(name) for name in chosen])
    assert found.bad == []
    assert start <= found.next_offset <= end


@given(log=logs(), output_bytes_max=st.integers(1, 2000))
def test_output_comes_in_parts_that_fit(is_compiled, log, output_bytes_max):
    data, rows = log
    found, start, position = [], 0, 0
    while position < len(data):
        columns = decode(
            memoryview(data)[position:],
            is_compiled=is_compiled,
            start=start,
            output_bytes_max=output_bytes_max,
        )
        found += rows_in(columns.batch)
        assert columns.next_position > 0
        start, position = columns.next_offset, position + columns.next_position
    assert found == rows


@pytest.mark.parametrize("codec", list(Compression))
@pytest.mark.parametrize("builder_class", [KafkaPythonBuilder, AiokafkaBuilder])
def test_batches_of_other_clients_are_read(is_compiled, builder_class, codec):
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
        pairs = [tuple(header) for header in record.headers]
        builder.append(record.offset, record.timestamp_ms, record.key, record.value, pairs)
    found = decode(bytes(builder.build()), is_compiled=is_compiled)
    assert rows_in(found.batch) == rows_of(RECORDS)
    assert (found.bad, found.next_offset) == ([], 3)


# --- what is left out ---------------------------------------------------------------------------


def test_types_are_those_of_the_schema(is_compiled):
    batch = decode(b"", is_compiled=is_compiled).batch
    assert batch.num_rows == 0
    assert [str(field.type) for field in batch.schema] == [
        "binary",
        "binary",
        "int64",
        "timestamp[us, tz=UTC]",
        "int32",
        "list<element: struct<key: string, value: binary>>",
    ]


def test_control_batches_are_left_out(is_compiled):
    data = build_batch([(None, b"a")])
    data += build_batch([(bytes(4), bytes(6))], base_offset=1, control=True, transactional=True)
    data += build_batch([(None, b"b")], base_offset=2)
    found = decode(data, is_compiled=is_compiled)
    assert found.batch.column("value").to_pylist() == [b"a", b"b"]
    assert (found.bad, found.next_offset) == ([], 3)


def test_aborted_transactions_are_left_out(is_compiled):
    """By producer and by offsets; what is not transactional stays, whoever sent it."""
    kinds = [(5, True), (6, True), (5, False), (5, True), (5, True), (6, True)]
    data = bytearray()
    for offset, (producer, transactional) in enumerate(kinds):
        data += build_batch(
            [(None, b"%d" % offset)],
            base_offset=offset,
            producer_id=producer,
            transactional=transactional,
        )
    aborted = [Aborted(6, 5, 9), Aborted(5, 4, 8), Aborted(5, 0, 3)]
    found = decode(data, is_compiled=is_compiled, aborted=aborted)
    assert found.batch.column("offset").to_pylist() == [1, 2]
    from_the_middle = decode(data, is_compiled=is_compiled, start=3, aborted=aborted)
    assert from_the_middle.batch.num_rows == 0
    assert decode(data, is_compiled=is_compiled).batch.num_rows == len(kinds)


@pytest.mark.parametrize("codec", list(Compression))
def test_what_compaction_leaves_is_read(is_compiled, codec):
    holes = [Record(12, 1, b"a", b"1"), Record(17, 2, b"b", b"2")]
    data = build_batch(holes, base_offset=10, last_offset=19, compression=codec)
    data += build_empty_batch(read_header(build_batch([(b"k", b"v")] * 5, base_offset=20)))
    data += build_batch([(b"c", None)], base_offset=40, compression=codec)
    found = decode(data, is_compiled=is_compiled)
    assert found.batch.column("offset").to_pylist() == [12, 17, 40]
    assert (found.bad, found.next_offset) == ([], 41)
    assert decode(data, is_compiled=is_compiled, end=15).next_offset == 15
    assert decode(data, is_compiled=is_compiled, end=30).next_offset == 30


def test_log_append_time_is_that_of_all_records(is_compiled):
    data = build_batch(RECORDS, log_append_time_ms=777)
    found = decode(data, is_compiled=is_compiled, columns=("timestamp", "timestamp_type"))
    assert rows_in(found.batch) == [{"timestamp": 777_000, "timestamp_type": 1}] * 3


def test_data_may_be_any_buffer(is_compiled):
    data = bytes(build_batch(RECORDS))
    for buffer in (
        data,
        bytearray(data),
        memoryview(b"xx" + data)[2:],
        memoryview(pa.py_buffer(data)),
    ):
        assert rows_in(decode(buffer, is_compiled=is_compiled).batch) == rows_of(RECORDS)


def test_a_mapped_file_can_be_closed_after_decoding(is_compiled, tmp_path):
    """No view of it is left behind, not even by a batch that is bad."""
    bad = bytearray(build_batch([(None, b"v")], base_offset=3, compression=Compression.ZSTD))
    bad[-1] ^= 1
    path = tmp_path / "segment"
    path.write_bytes(build_batch(RECORDS) + bad)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        checked = decode(mapped, is_compiled=is_compiled)
        unchecked = decode(mapped, is_compiled=is_compiled, check_crc=False)
    assert rows_in(checked.batch) == rows_in(unchecked.batch) == rows_of(RECORDS)
    assert [len(found.bad) for found in (checked, unchecked)] == [1, 1]


@pytest.mark.parametrize("columns", [(), ("key", "key"), ("topic",)])
def test_columns_that_do_not_exist_are_refused(columns):
    with pytest.raises(ValueError, match="columns must be"):
        ColumnDecoder(columns, is_compiled=False)


def test_limits_that_no_arrow_column_holds_are_refused():
    with pytest.raises(ValueError, match="at most"):
        ColumnDecoder(batch_bytes_max=2**30, output_bytes_max=2**30, is_compiled=False)

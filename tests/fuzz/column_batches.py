"""Target: runs of batches that the data pipeline decodes to columns.

The compiled loop and plain Python must find the same rows and the same bad batches. The data lies
behind poison, which no column may show, and before memory that nobody may touch; offsets rise and
are those asked for. For a long run of this target alone, as it is compiled for everybody, and with
a check of every index:

    python -m tests.fuzz --minutes 10 --only columns
    NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=DIRECTORY python -m tests.fuzz --minutes 10 --only columns
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import headrace.records.column_arrays  # noqa: F401 - compiled before inputs are timed
from headrace.records.build import build_batch, build_empty_batch
from headrace.records.columns import ColumnDecoder, Columns
from headrace.records.compression import Compression, compress
from headrace.records.header import HEADER_SIZE, read_header
from headrace.records.record import Header, Record
from tests.fuzz.guarded_memory import GuardedMemory
from tests.fuzz.restamp import restamp_batch, restamp_file
from tests.fuzz.target import INPUT_BYTES_MAX, expect

if TYPE_CHECKING:
    from collections.abc import Iterator

RESTAMPED = 0x80
UNCHECKED = 0x40
ONE_BATCH = 0x20
START_MASK = 0x0F
DECOMPRESSED_BYTES_MAX = 256 * 1024
OUTPUT_BYTES_MAX = 64 * 1024
OFFSET_MAX = 2**63 - 1
POISON = bytes.fromhex("a5d0f00dbad5eedc0ffee1a9e5b0b5ea") * 64
MEMORY = GuardedMemory(len(POISON) + INPUT_BYTES_MAX)
CALLS_MAX = 10_000


class Aborted(NamedTuple):
    """An entry of a transaction index."""

    producer_id: int
    first_offset: int
    last_offset: int


ABORTED = (Aborted(producer_id=7, first_offset=2, last_offset=9),)


class ColumnsTarget:
    """One byte of choices (checksums, the first offset), then the run."""

    name = "columns"

    def seeds(self) -> dict[str, bytes]:
        headers = (Header("text", b"1"), Header("ü", None), Header("", b""))
        records = [
            Record(0, 1_700_000_000_000, b"key", b"value" * 9, headers),
            Record(1, 5, None, b""),
            Record(4, -1, b"", None, headers[:1]),
        ]
        seeds: dict[str, bytes] = {}
        run = bytearray()
        for number, codec in enumerate(Compression):
            moved = [record._replace(offset=record.offset + 10 * number) for record in records]
            batch = build_batch(moved, base_offset=10 * number, compression=codec)
            run += batch
            for choice in (RESTAMPED | ONE_BATCH, UNCHECKED):
                seeds[f"{codec.name.lower()}-{choice:x}"] = bytes([choice]) + batch
            bomb = bytes(batch[:HEADER_SIZE]) + compress(codec, bytes(8 * DECOMPRESSED_BYTES_MAX))
            if codec not in (Compression.NONE, Compression.SNAPPY):
                seeds[f"{codec.name.lower()}-bomb"] = bytes([RESTAMPED | ONE_BATCH]) + bomb
        seeds["run"] = bytes([RESTAMPED | 2]) + run
        transaction = {"producer_id": 7, "transactional": True}
        emptied = build_empty_batch(read_header(build_batch(records, log_append_time_ms=9)))
        aborted = build_batch([(b"k", b"v")], base_offset=5, **transaction)
        marker = build_batch([(bytes(4), bytes(6))], base_offset=9, control=True, **transaction)
        seeds["transaction"] = bytes([RESTAMPED]) + emptied + aborted + marker
        return seeds

    def run(self, data: bytes) -> None:
        choice, batches = (data[0], data[1:]) if data else (0, b"")
        if choice & RESTAMPED:
            batches = restamp_batch(batches) if choice & ONE_BATCH else restamp_file(batches)
        compiled = list(_decoded(choice, batches, is_compiled=True))
        plain = list(_decoded(choice, batches, is_compiled=False))
        rows = [columns.batch for columns in compiled if columns.batch.num_rows]
        others = [columns.batch for columns in plain if columns.batch.num_rows]
        expect(_rows(rows) == _rows(others), "the decoders differ in what they read")
        expect(_bad(compiled) == _bad(plain), "the decoders differ in what is bad")
        _check_offsets(choice, compiled)
        if _must_leave_a_trace(choice, batches):
            expect(bool(rows or _bad(compiled)), "a batch has neither rows nor a reason")
        for columns in compiled:
            _check_memory(columns)

    def close(self) -> None:
        """Nothing is kept."""


def _decoded(choice: int, batches: bytes, *, is_compiled: bool) -> Iterator[Columns]:
    """Call after call, until all was read."""
    decoder = ColumnDecoder(
        check_crc=not choice & UNCHECKED,
        batch_bytes_max=DECOMPRESSED_BYTES_MAX,
        output_bytes_max=OUTPUT_BYTES_MAX,
        is_compiled=is_compiled,
    )
    data = MEMORY.holding(POISON + batches)[len(POISON) :]
    start = choice & START_MASK
    for _ in range(CALLS_MAX):
        columns = decoder.decode(data, start=start, end=OFFSET_MAX, aborted=ABORTED)
        yield columns
        if columns.next_position == len(data) or columns.next_offset == OFFSET_MAX:
            return
        expect(columns.next_position > 0, "a call read nothing")
        data, start = data[columns.next_position :], columns.next_offset
    expect(False, "the end is never reached")


def _rows(batches: list) -> list[tuple]:
    """Timestamps as numbers: Python's own cannot tell all of them."""
    return [
        tuple(zip(*(_values(array) for array in batch.columns), strict=True)) for batch in batches
    ]


def _values(array: object) -> list:
    is_time = "timestamp" in str(array.type)
    return (array.view("int64") if is_time else array).to_pylist()


def _bad(calls: list[Columns]) -> list[tuple]:
    return [bad._replace(reason="") for columns in calls for bad in columns.bad]


def _must_leave_a_trace(choice: int, batches: bytes) -> bool:
    """Whether this is one batch, with a right checksum, of records that were asked for."""
    if not (choice & RESTAMPED and choice & ONE_BATCH) or len(batches) < HEADER_SIZE:
        return False
    header = read_header(batches)
    is_left_out = header.is_control or header.producer_id == ABORTED[0].producer_id
    is_asked_for = choice & START_MASK <= header.base_offset < OFFSET_MAX // 2
    return is_asked_for and header.record_count != 0 and not is_left_out


def _check_offsets(choice: int, calls: list[Columns]) -> None:
    before = (choice & START_MASK) - 1
    for columns in calls:
        for offset in columns.batch.column("offset").to_pylist():
            expect(before < offset < OFFSET_MAX, f"offset {offset} after {before}")
            before = offset
        for bad in columns.bad:
            expect(bool(bad.reason), "a batch is bad for no reason")
            expect(bad.base_offset <= bad.last_offset, "a bad batch covers no offset")


def _check_memory(columns: Columns) -> None:
    columns.batch.validate(full=True)
    for array in columns.batch.columns:
        for part in array.buffers():
            expect(part is None or POISON[:8] not in part.to_pybytes(), "memory beyond the data")


TARGETS = (ColumnsTarget(),)

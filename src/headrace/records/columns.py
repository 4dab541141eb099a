"""Record batches to Arrow columns: what the data pipeline reads segments with.

A run of whole batches goes in, one Arrow batch comes out. A batch that is wrong in any way comes
back as a BadBatch with the reason, and the others are not touched by it. Where numba is installed
the records are taken apart by compiled code (``column_kernel``), else by plain Python.
"""

from __future__ import annotations

from bisect import bisect_right
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, Protocol

from crc32c import crc32c

from headrace.model.errors import HeadraceError
from headrace.records.column_fallback import PlainBuilder
from headrace.records.column_room import UNKNOWN_DENSITY, Density, Room
from headrace.records.column_run import BadBatch, BatchRun
from headrace.records.column_schema import COLUMN_BYTES_MAX, COLUMNS, SCHEMA
from headrace.records.header import (
    ATTRIBUTES_POSITION,
    COMPRESSION_MASK,
    CONTROL,
    HEADER_SIZE,
    crc_is_valid,
    read_header,
)
from headrace.records.unpacking import Unpacker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa

    from headrace.records.header import BatchHeader, Buffer

__all__ = [
    "COLUMNS",
    "SCHEMA",
    "HAS_NUMBA",
    "AbortedTransaction",
    "BadBatch",
    "ColumnDecoder",
    "Columns",
]

BATCH_BYTES_MAX = 64 * 1024 * 1024
"""Most that the records of one compressed batch may take uncompressed."""
OUTPUT_BYTES_MAX = 256 * 1024 * 1024
"""Most in the fullest column of one call's output, but for a single batch that is larger."""

HAS_NUMBA = find_spec("numba") is not None


class AbortedTransaction(Protocol):
    """An entry of a transaction index: the offsets from the first record to the marker."""

    @property
    def producer_id(self) -> int: ...

    @property
    def first_offset(self) -> int: ...

    @property
    def last_offset(self) -> int: ...


class Columns(NamedTuple):
    """``next_offset`` is the first one not covered, ``next_position`` the byte to go on from."""

    batch: pa.RecordBatch
    bad: list[BadBatch]
    next_offset: int
    next_position: int = 0


class _Builder(Protocol):
    faults: list[tuple[int, str]]

    def __init__(
        self,
        source: memoryview,
        columns: Sequence[str],
        *,
        start: int,
        end: int,
        unpacker: Unpacker,
        room: Room,
    ) -> None: ...

    @property
    def taken(self) -> Room: ...

    @property
    def bytes_used(self) -> int: ...

    def append(self, position: int, header: BatchHeader) -> None: ...

    def finish(self) -> pa.RecordBatch: ...


class ColumnDecoder:
    """Decodes any number of runs of batches, one at a time; between two calls it holds nothing but
    memory to unpack into.
    """

    def __init__(
        self,
        columns: Sequence[str] = COLUMNS,
        *,
        check_crc: bool = True,
        batch_bytes_max: int = BATCH_BYTES_MAX,
        output_bytes_max: int = OUTPUT_BYTES_MAX,
        is_compiled: bool = HAS_NUMBA,
    ) -> None:
        unknown = [name for name in columns if name not in COLUMNS]
        if unknown or not columns or len(set(columns)) < len(columns):
            raise ValueError(f"columns must be some of {COLUMNS}, each once, not {columns}")
        if batch_bytes_max + output_bytes_max > COLUMN_BYTES_MAX:
            raise ValueError(f"an Arrow column holds at most {COLUMN_BYTES_MAX} bytes")
        self._columns = tuple(columns)
        self._check_crc = check_crc
        self._batch_bytes_max = batch_bytes_max
        self._output_bytes_max = output_bytes_max
        self._unpacker = Unpacker(batch_bytes_max)
        self._density = UNKNOWN_DENSITY
        self._is_compiled = is_compiled
        self._builder_type = _builder_type(is_compiled)

    def decode(
        self,
        data: Buffer,
        *,
        start: int,
        end: int,
        aborted: Sequence[AbortedTransaction] = (),
        lowest_offset: int = 0,
    ) -> Columns:
        """The records of ``data`` whose offsets lie in ``[start, end)``.

        Left out are control batches and those of the transactions in ``aborted``. Once a column
        holds ``output_bytes_max`` the call ends early: see ``next_offset`` and ``next_position``.
        No batch begins before ``lowest_offset``: one that says so is bad.
        """
        view = memoryview(data).cast("B")
        if self._is_compiled and not aborted:
            columns = self._decode_in_order(view, start, end, lowest_offset)
            if columns is not None:
                return columns
        builder = self._builder(view, start, end)
        run = BatchRun(view, start, end, max(self._batch_bytes_max, HEADER_SIZE), lowest_offset)
        is_aborted = _aborted_test(aborted)
        while (header := run.find()) is not None:
            position, size_bytes = run.position, header.size_bytes
            used_bytes = builder.bytes_used
            if used_bytes and used_bytes + size_bytes > self._output_bytes_max:
                break
            if self._check_crc and not crc_is_valid(view, position, size_bytes):
                run.park(header, "the checksum of the batch is wrong")
                continue
            run.take(header)
            is_before = header.last_offset_delta >= 0 and header.last_offset < start
            if is_before or header.is_control or is_aborted(header):
                continue
            try:
                builder.append(position, header)
            except HeadraceError as error:
                run.park_taken(position, header, error.message)
        batch = builder.finish()
        self._density = Density(run.position, builder.taken)
        for position, reason in builder.faults:
            run.park_taken(position, read_header(view, position), reason)
        return Columns(batch, run.bad, run.next_offset, run.position)

    def _decode_in_order(
        self, view: memoryview, start: int, end: int, lowest_offset: int
    ) -> Columns | None:
        """The short way for what runs nearly always are. None: something is wrong with this one,
        and only the long way can say what.
        """
        from headrace.records.column_arrays import RECORD_COUNT, CompiledBuilder, read_only
        from headrace.records.column_scan import scanned_batches

        batches = scanned_batches(read_only(view), lowest_offset, end)
        if batches is None:
            return None
        builder = self._builder(view, start, end)
        assert isinstance(builder, CompiledBuilder)
        position, seen_end = 0, lowest_offset
        for found in batches:
            used_bytes = builder.bytes_used
            if used_bytes and used_bytes + found.end - found.position > self._output_bytes_max:
                break
            covered = view[found.position + ATTRIBUTES_POSITION : found.end]
            if self._check_crc and crc32c(covered) != found.crc:
                return None
            position, seen_end = found.end, found.last_offset + 1
            is_empty = found.end - found.position == HEADER_SIZE and not found.records[RECORD_COUNT]
            if is_empty or found.attributes & CONTROL or found.last_offset < start:
                continue
            try:
                codec = found.attributes & COMPRESSION_MASK
                builder.append_batch(found.position, codec, found.records)
            except HeadraceError:
                return None
        batch = builder.finish()
        self._density = Density(position, builder.taken)
        return (
            None if builder.faults else Columns(batch, [], min(max(start, seen_end), end), position)
        )

    def _builder(self, view: memoryview, start: int, end: int) -> _Builder:
        return self._builder_type(
            view,
            self._columns,
            start=start,
            end=end,
            unpacker=self._unpacker,
            room=self._density.room_for(len(view), self._output_bytes_max),
        )


def _builder_type(is_compiled: bool) -> type[_Builder]:
    if not is_compiled:
        return PlainBuilder
    # Not before it is needed: importing numba takes longer than many a task.
    from headrace.records.column_arrays import CompiledBuilder

    return CompiledBuilder


def _aborted_test(aborted: Iterable[AbortedTransaction]) -> Callable[[BatchHeader], bool]:
    """Whether a batch belongs to one of these transactions.

    A producer's transactions do not overlap, and an entry of the index knows both ends: so no
    marker has to be read, and a run may begin in the middle of a transaction.
    """
    entries: dict[int, list[AbortedTransaction]] = {}
    for entry in sorted(aborted, key=lambda each: each.first_offset):
        entries.setdefault(entry.producer_id, []).append(entry)

    def is_aborted(header: BatchHeader) -> bool:
        of_producer = entries.get(header.producer_id)
        if of_producer is None or not header.is_transactional:
            return False
        following = bisect_right(
            of_producer, header.last_offset, key=lambda entry: entry.first_offset
        )
        return following > 0 and of_producer[following - 1].last_offset >= header.base_offset

    return is_aborted

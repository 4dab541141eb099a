"""Many small Parquet files into one: the plan, and the work, in bounded memory."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from headrace.pipeline.tables.errors import DamagedTable
from headrace.pipeline.tables.schemas import conform

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from headrace.pipeline.ranges import OffsetRange

File = TypeVar("File")

ROW_GROUP_ROWS_MAX = 131_072
ROW_GROUP_BYTES_MAX = 64 * 1024 * 1024
READ_ROWS_MAX = 16_384
REWRITTEN_BYTES_MAX = 2 * 1024 * 1024 * 1024
"""Of one compaction: a job does not stand still for longer than this takes."""
SMALL_FRACTION = 0.75
"""A file of this part of the target or more is left alone."""

DEFAULT_WRITER_OPTIONS: Mapping[str, Any] = {"compression": "zstd", "write_page_index": True}


def plan_merges(
    files: Iterable[File],
    target_bytes: int,
    *,
    group_of: Callable[[File], Hashable],
    size_of: Callable[[File], int],
) -> list[list[File]]:
    """Which files become one. Order is kept, so that neighbours stay neighbours."""
    groups: dict[Hashable, list[File]] = defaultdict(list)
    for file in files:
        if size_of(file) < target_bytes * SMALL_FRACTION:
            groups[group_of(file)].append(file)
    merges: list[list[File]] = []
    planned_bytes = 0
    for group in groups.values():
        for merge in _fill(group, target_bytes, size_of):
            planned_bytes += sum(map(size_of, merge))
            if planned_bytes > REWRITTEN_BYTES_MAX and merges:
                return merges
            merges.append(merge)
    return merges


def _fill(
    group: list[File], target_bytes: int, size_of: Callable[[File], int]
) -> Iterator[list[File]]:
    merge: list[File] = []
    size = 0
    for file in group:
        if merge and size + size_of(file) > target_bytes:
            if len(merge) > 1:
                yield merge
            merge, size = [], 0
        merge.append(file)
        size += size_of(file)
    if len(merge) > 1:
        yield merge


def merge_ranges(ranges: Iterable[OffsetRange]) -> tuple[OffsetRange, ...]:
    """Sorted, and adjoining ones as one."""
    merged: list[OffsetRange] = []
    for each in sorted(ranges):
        last = merged[-1] if merged else None
        if last is not None and last.address == each.address and last.end >= each.start:
            merged[-1] = last._replace(end=max(last.end, each.end))
        else:
            merged.append(each)
    return tuple(merged)


def merge_files(
    sources: Sequence[str],
    sink: pa.NativeFile,
    schema: pa.Schema,
    writer_options: Mapping[str, Any] | None = None,
) -> pq.FileMetaData:
    """One file with the rows of all sources, in their order, and the columns of ``schema``."""
    collected: list[pq.FileMetaData] = []
    options = {**DEFAULT_WRITER_OPTIONS, **(writer_options or {})}
    with pq.ParquetWriter(sink, schema, metadata_collector=collected, **options) as writer:
        for group in _row_groups(_conforming_batches(sources, schema)):
            writer.write_table(
                pa.Table.from_batches(group, schema), row_group_size=ROW_GROUP_ROWS_MAX
            )
    return collected[0]


def _conforming_batches(sources: Sequence[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for source in sources:
        try:
            with _open(source) as file:
                for batch in pq.ParquetFile(file).iter_batches(READ_ROWS_MAX):
                    yield conform(batch, schema)
        except (FileNotFoundError, pa.ArrowInvalid) as error:
            raise DamagedTable(f"{source} of the table cannot be read: {error}") from error


def _open(source: str) -> pa.NativeFile:
    if "://" not in source:
        return pa.memory_map(source)
    file_system, path = fs.FileSystem.from_uri(source)
    return file_system.open_input_file(path)


def _row_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    group: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        group.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= ROW_GROUP_ROWS_MAX or size >= ROW_GROUP_BYTES_MAX:
            yield group
            group, rows, size = [], 0, 0
    if group:
        yield group

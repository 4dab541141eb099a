"""Many small Parquet files into one: the plan, and the work, in bounded memory."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from headrace.pipeline.tables.errors import DamagedTable, refusals_named
from headrace.pipeline.tables.file_options import COMPRESSION, writer_options
from headrace.pipeline.tables.row_groups import RowGroups
from headrace.pipeline.tables.schemas import conform

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from headrace.pipeline.ranges import OffsetRange
    from headrace.pipeline.tables.data_file import DataFile
    from headrace.pipeline.tables.file_layout import FileLayout, NewFile

File = TypeVar("File")

READ_ROWS_MAX = 16_384
REWRITTEN_BYTES_MAX = 256 * 1024 * 1024
"""Of one compaction: a job stands still for as long as this takes, and no longer."""
SMALL_FRACTION = 0.75
"""A file of this part of the target or more is left alone."""


class MergePlan(NamedTuple, Generic[File]):
    """Which files become one each."""

    merges: list[list[File]]
    is_complete: bool
    """False: there is more to merge than one compaction may."""


def plan_merges(
    files: Iterable[File],
    target_bytes: int,
    *,
    group_of: Callable[[File], Hashable],
    size_of: Callable[[File], int],
) -> MergePlan[File]:
    """Order is kept, so that neighbours stay neighbours."""
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
                return MergePlan(merges, is_complete=False)
            merges.append(merge)
    return MergePlan(merges, is_complete=True)


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


def merge_into(
    layout: FileLayout, new_file: NewFile, sources: Sequence[str], schema: pa.Schema
) -> DataFile:
    """The new file, or none: half of one would only take space."""
    try:
        with refusals_named(layout.root), layout.open(new_file) as sink:
            metadata = merge_files(sources, sink, schema, layout.compression)
        return layout.describe(new_file, metadata)
    except BaseException:
        layout.discard(new_file.path)
        raise


def merge_files(
    sources: Sequence[str], sink: pa.NativeFile, schema: pa.Schema, compression: str = COMPRESSION
) -> pq.FileMetaData:
    """One file with the rows of all sources, in their order, and the columns of ``schema``."""
    collected: list[pq.FileMetaData] = []
    options = writer_options(schema, compression=compression)
    rows = RowGroups(schema)
    with pq.ParquetWriter(sink, schema, metadata_collector=collected, **options) as writer:
        for batch in _conforming_batches(sources, schema):
            for group in rows.add(batch):
                writer.write_table(group)
        for group in rows.rest():
            writer.write_table(group)
    return collected[0]


def _conforming_batches(sources: Sequence[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for source in sources:
        try:
            with _open(source) as file:
                yield from (conform(batch, schema) for batch in _batches(pq.ParquetFile(file)))
        except (FileNotFoundError, pa.ArrowInvalid) as error:
            raise DamagedTable(f"{source} of the table cannot be read: {error}") from error


def _batches(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    """Never of more than one row group: rows may be large, row groups are not."""
    for group in range(file.num_row_groups):
        yield from file.iter_batches(READ_ROWS_MAX, row_groups=[group])


def _open(source: str) -> pa.NativeFile:
    if "://" not in source:
        return pa.memory_map(source)
    file_system, path = fs.FileSystem.from_uri(source)
    return file_system.open_input_file(path)

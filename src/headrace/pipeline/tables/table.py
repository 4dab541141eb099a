"""The port: what a table of any format can do for a job.

A commit carries the job, the number of the batch and the positions behind it, in the same atomic
step as the files. So the table itself knows what is in it, and a batch that comes twice goes in
once, whatever happened to the job in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from headrace.pipeline.ranges import PositionMap
    from headrace.pipeline.tables.data_file import DataFile
    from headrace.pipeline.tables.file_layout import FileLayout

COMPACTION_TARGET_BYTES = 128 * 1024 * 1024


class CompactionReport(NamedTuple):
    """What a compaction did; before and after count only the files it touched."""

    files_before: int = 0
    files_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0


class Table(Protocol):
    """A target of the pipeline. One process writes at a time; anybody may read at any time."""

    kind: str
    url: str
    layout: FileLayout

    def committed_batch(self, job: str) -> int | None: ...

    def committed_positions(self, job: str) -> PositionMap: ...

    def commit(
        self,
        job: str,
        batch_id: int,
        files: Sequence[DataFile],
        parked: Sequence[DataFile],
        schema: pa.Schema,
        positions: PositionMap,
    ) -> bool:
        """Put a batch into the table. False: it was there already, and nothing was done."""

    def schema(self) -> pa.Schema | None:
        """The columns of the files, without those that stand in their paths."""

    def evolve(self, job: str, schema: pa.Schema) -> None:
        """Add the columns that the table lacks."""

    def files(self) -> list[str]:
        """Paths or URLs of all files of the table as it is now."""

    def parked_files(self) -> list[str]:
        """The same of the side table for records that could not be decoded."""

    def compact(
        self,
        target_bytes: int = COMPACTION_TARGET_BYTES,
        writer_options: Mapping[str, Any] | None = None,
    ) -> CompactionReport: ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...

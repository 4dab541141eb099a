"""The port: what a table of any format can do for a job.

A commit carries the job, the number of the batch and the positions behind it, in the same atomic
step as the files. So the table itself knows what is in it, and a batch that comes twice goes in
once, whatever happened to the job in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from headrace.pipeline.tables.commit_rules import UNKNOWN_SOURCE, SourceIds

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    is_complete: bool = True
    """False: there is more to do, but a job should not stand still for longer. Ask again."""

    def plus(self, other: CompactionReport) -> CompactionReport:
        return CompactionReport(
            self.files_before + other.files_before,
            self.files_after + other.files_after,
            self.bytes_before + other.bytes_before,
            self.bytes_after + other.bytes_after,
            self.is_complete and other.is_complete,
        )


class Table(Protocol):
    """A target of the pipeline. One process writes at a time; anybody may read at any time."""

    kind: str
    url: str
    layout: FileLayout

    def committed_batch(self, job: str) -> int | None: ...

    def committed_positions(self, job: str) -> PositionMap:
        """Where the job goes on; if it takes the table over, where the others got to."""

    def committed_source(self, job: str) -> SourceIds: ...

    def claim(self, job: str) -> None:
        """Refuse at once what a commit would refuse after all the work of a batch."""

    def commit(
        self,
        job: str,
        batch_id: int,
        files: Sequence[DataFile],
        parked: Sequence[DataFile],
        schema: pa.Schema,
        positions: PositionMap,
        source: SourceIds = UNKNOWN_SOURCE,
    ) -> bool:
        """Put a batch into the table, and columns that it lacks. False: it was there already, and
        nothing was done.
        """

    def schema(self) -> pa.Schema | None:
        """The columns of the files, without those that stand in their paths."""

    def files(self) -> list[str]:
        """Paths or URLs of all files of the table as it is now."""

    def parked_files(self) -> list[str]:
        """The same of the side table for records that could not be decoded."""

    def compact(self, target_bytes: int = COMPACTION_TARGET_BYTES) -> CompactionReport:
        """Small files into larger ones, those of the side table too, and waste away."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...

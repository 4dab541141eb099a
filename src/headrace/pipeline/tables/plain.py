"""A plain table: a directory of Parquet files, and a manifest that says which of them count.

A commit is the creation of one file, the next version of the manifest. Everything before it is
invisible; everything after it (the hint, the links for patterns such as ``*.parquet``) follows from
it, and is made good by the next writer after a crash. Readers take the list of files from
``files(url)``. It is a snapshot: files that a compaction replaced stay for the retention time.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.pipeline.errors import SchemaConflict
from headrace.pipeline.tables.commit_rules import EMPTY_STATE
from headrace.pipeline.tables.committing import Commit, CommittingTable, Snapshot
from headrace.pipeline.tables.errors import (
    ConcurrentCommit,
    DamagedTable,
    ForeignTable,
)
from headrace.pipeline.tables.file_layout import FileLayout, table_root
from headrace.pipeline.tables.glob_view import GlobView
from headrace.pipeline.tables.manifest import Change, Partitioning
from headrace.pipeline.tables.manifest_log import ManifestLog
from headrace.pipeline.tables.rewriting import merge_into, merge_ranges, plan_merges
from headrace.pipeline.tables.schemas import PARKED_SCHEMA
from headrace.pipeline.tables.small_files import (
    UNFINISHED_SUFFIX,
    LocalFiles,
    SmallFiles,
    StoredFiles,
)
from headrace.pipeline.tables.table import COMPACTION_TARGET_BYTES, CompactionReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pyarrow as pa

    from headrace.pipeline.ranges import OffsetRange
    from headrace.pipeline.tables.commit_rules import TableState
    from headrace.pipeline.tables.data_file import DataFile
    from headrace.pipeline.tables.file_layout import NewFile
    from headrace.pipeline.tables.manifest import Manifest
    from headrace.pipeline.tables.rewriting import MergePlan
    from headrace.pipeline.tables.settings import TableSettings

DATA_DIRECTORY = "_headrace/data"
PARKED_DIRECTORY = "_headrace/parked"
SUFFIX = ".parq"
"""Not ``.parquet``: a pattern for those must not meet files that are not committed."""


def files(url: str, *, parked: bool = False) -> list[str]:
    """The files of a plain table as it is now, for any reader of Parquet."""
    root = table_root(url)
    manifest = ManifestLog(_small_files(root), root).latest()
    if manifest is None:
        raise ForeignTable(f"there is no plain table at {url}")
    return [f"{root}/{path}" for path in (manifest.parked if parked else manifest.files)]


class PlainTable(CommittingTable["Manifest"]):
    """See ``Table`` for the verbs."""

    kind = "plain"

    def __init__(
        self,
        url: str,
        settings: TableSettings,
        *,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        root = table_root(url)
        columns, bucket_ms = settings.columns, settings.bucket_ms
        layout = FileLayout(
            root,
            DATA_DIRECTORY,
            PARKED_DIRECTORY,
            SUFFIX,
            columns,
            bucket_ms,
            compression=settings.compression,
        )
        super().__init__(layout, settings)
        self._now_ms = now_ms
        self._partitioning = Partitioning(columns, bucket_ms)
        self._small_files = _small_files(root, settings.storage, is_synced=settings.is_synced)
        self._log = ManifestLog(self._small_files, root)
        self._view = GlobView(root, DATA_DIRECTORY)
        self._has_view = layout.is_local and settings.has_view
        self._is_view_certain = False
        self._raise_if_partitioned_otherwise(self._log.latest())

    def files(self) -> list[str]:
        manifest = self._log.latest()
        return [] if manifest is None else [self.layout.url_of(path) for path in manifest.files]

    def parked_files(self) -> list[str]:
        manifest = self._log.latest()
        return [] if manifest is None else [self.layout.url_of(path) for path in manifest.parked]

    def compact(self, target_bytes: int = COMPACTION_TARGET_BYTES) -> CompactionReport:
        manifest = self._read().version
        if manifest is None or manifest.schema is None:
            return CompactionReport()
        self._begin(manifest.state.owner or "")
        if self._has_view:
            self._view.raise_if_cannot_swap()
        plan = _plan(manifest.files, target_bytes)
        merged = [
            self._merge(self.layout.new_file, merge, manifest.schema) for merge in plan.merges
        ]
        parked_plan = _plan(manifest.parked, target_bytes)
        parked = [
            self._merge(self._new_parked_file, merge, PARKED_SCHEMA) for merge in parked_plan.merges
        ]
        retired = [file for merge in (*plan.merges, *parked_plan.merges) for file in merge]
        expired = self._expired(manifest)
        if retired or expired:
            change = Change(merged, parked, [file.path for file in retired], expired)
            self._make_durable([*merged, *parked])
            try:
                self._append(manifest, manifest.state, manifest.schema, change)
            except ConcurrentCommit:  # compaction can wait; what it wrote is cleaned up one day
                return CompactionReport()
        self._clean_up(expired)
        return CompactionReport(
            files_before=len(retired),
            files_after=len(merged) + len(parked),
            bytes_before=sum(file.size_bytes for file in retired),
            bytes_after=sum(file.size_bytes for file in (*merged, *parked)),
            is_complete=plan.is_complete and parked_plan.is_complete,
        )

    def _read(self) -> Snapshot[Manifest]:
        manifest = self._log.latest()
        if manifest is None:
            return Snapshot(EMPTY_STATE, None, None)
        return Snapshot(manifest.state, manifest.schema, manifest)

    def _begin_to_write(self) -> None:
        """Make good what the writer before us may have left undone."""
        manifest = self._log.latest()
        if manifest is None:
            if not self._small_files.is_empty():
                raise ForeignTable(
                    f"{self.url} is not empty and no table of Headrace; choose an empty directory"
                )
        elif self._has_view and not self._is_view_certain:
            self._view.remove_leftovers()
            self._view.refresh(manifest)
        self._is_view_certain = True

    def _write(self, snapshot: Snapshot[Manifest], commit: Commit) -> None:
        self._make_durable([*commit.files, *commit.parked])
        change = Change(added=commit.files, parked=commit.parked)
        self._append(snapshot.version, commit.state, commit.schema, change)

    def _append(
        self, previous: Manifest | None, state: TableState, schema: pa.Schema, change: Change
    ) -> None:
        """The commit, and then the view; until that is done it counts as uncertain."""
        self._is_view_certain = False
        manifest = self._log.append(
            previous,
            self._partitioning,
            state=state,
            schema=schema,
            change=change,
            now_ms=self._now_ms(),
        )
        if self._has_view:
            self._view.refresh(manifest, [file.path for file in change.added])
        self._is_view_certain = True

    def _merge(
        self,
        new_file: Callable[[Sequence[OffsetRange], Mapping[str, str]], NewFile],
        sources: Sequence[DataFile],
        schema: pa.Schema,
    ) -> DataFile:
        ranges = merge_ranges(each for file in sources for each in file.ranges)
        new = new_file(ranges, sources[0].partition_values)
        urls = [self.layout.url_of(file.path) for file in sources]
        merged = merge_into(self.layout, new, urls, schema)
        expected = sum(file.rows for file in sources)
        if merged.rows != expected:
            raise DamagedTable(f"{urls} have {merged.rows} rows instead of {expected}")
        return merged

    def _new_parked_file(self, ranges: Sequence[OffsetRange], _: Mapping[str, str]) -> NewFile:
        return self.layout.new_parked_file(ranges)

    def _make_durable(self, files: Sequence[DataFile]) -> None:
        for file in files:
            if not self._small_files.exists(file.path):
                raise DamagedTable(f"{file.path} was written for {self.url}, and is gone")
        self._small_files.sync(file.path for file in files)

    def _expired(self, manifest: Manifest) -> list[str]:
        before_ms = self._now_ms() - self._settings.retention_ms
        return [path for path, retired_ms in manifest.retired.items() if retired_ms <= before_ms]

    def _clean_up(self, expired: Iterable[str]) -> None:
        """Files that no version names: of expired compactions, replays and failed attempts."""
        for path in expired:
            self._small_files.remove(path)
        manifest = self._log.latest()
        assert manifest is not None, "a table was compacted that is not there"
        named = {*manifest.files, *manifest.parked, *manifest.retired}
        before_ms = self._now_ms() - self._settings.orphan_age_ms
        for path, modified_ms in list(self._small_files.listing("_headrace")):
            is_ours = path.startswith((f"{DATA_DIRECTORY}/", f"{PARKED_DIRECTORY}/"))
            is_waste = path.endswith(UNFINISHED_SUFFIX) or (is_ours and path not in named)
            if is_waste and modified_ms <= before_ms:
                self._small_files.remove(path)
        self._log.remove_old()

    def _raise_if_partitioned_otherwise(self, manifest: Manifest | None) -> None:
        if manifest is not None and manifest.partitioning != self._partitioning:
            raise SchemaConflict(
                f"{self.url} is partitioned by {manifest.partitioning}, "
                f"and not by {self._partitioning}"
            )


def _plan(files: Mapping[str, DataFile], target_bytes: int) -> MergePlan[DataFile]:
    return plan_merges(
        sorted(files.values(), key=lambda file: (file.ranges, file.path)),
        target_bytes,
        group_of=lambda file: tuple(file.partition_values.values()),
        size_of=lambda file: file.size_bytes,
    )


def _small_files(
    root: str, storage: Mapping[str, str] | None = None, *, is_synced: bool = True
) -> SmallFiles:
    if "://" in root:
        return StoredFiles.at(root, storage)
    return LocalFiles(root, is_synced=is_synced)

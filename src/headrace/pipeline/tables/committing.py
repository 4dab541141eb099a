"""What the formats have in common: read, decide, write, and again if somebody else was faster.

A format supplies ``_read`` (the table at one version), ``_write`` (the next version, built on
exactly that one, or ``ConcurrentCommit``) and ``_begin_to_write`` (make good what a crash left).
"""

from __future__ import annotations

import os
import uuid
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, NamedTuple, Self, TypeVar

from headrace.pipeline.errors import TargetInUse, TargetNotWritable
from headrace.pipeline.tables.commit_rules import (
    UNKNOWN_SOURCE,
    SourceIds,
    TableState,
    is_replay,
    raise_if_owned_by_another,
)
from headrace.pipeline.tables.errors import ConcurrentCommit
from headrace.pipeline.tables.positions import normal
from headrace.pipeline.tables.schemas import merge_schemas, raise_if_reserved
from headrace.pipeline.tables.writer_lock import WriterLock

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from headrace.pipeline.ranges import PositionMap
    from headrace.pipeline.tables.data_file import DataFile
    from headrace.pipeline.tables.file_layout import FileLayout
    from headrace.pipeline.tables.settings import TableSettings

Version = TypeVar("Version")

COMMIT_ATTEMPTS_MAX = 10


class Snapshot(NamedTuple, Generic[Version]):
    """A table at one version; ``version`` is the format's own handle of it, None: no table yet."""

    state: TableState
    schema: pa.Schema | None
    version: Version | None


class Commit(NamedTuple):
    """What the next version holds beside what the last one did."""

    state: TableState
    schema: pa.Schema
    files: Sequence[DataFile] = ()
    parked: Sequence[DataFile] = ()


class CommittingTable(ABC, Generic[Version]):
    """The verbs of ``Table`` that are the same for all formats."""

    def __init__(self, layout: FileLayout, settings: TableSettings) -> None:
        self.url = layout.root
        self.layout = layout
        self._settings = settings
        self._lock = WriterLock(self.url) if layout.is_local else None
        if layout.is_local and os.path.exists(self.url) and not os.path.isdir(self.url):
            raise TargetNotWritable(f"{self.url} is a file; a table needs a directory")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def committed_batch(self, job: str) -> int | None:
        return self._read().state.batch_of(job)

    def committed_positions(self, job: str) -> PositionMap:
        """See ``Table``."""
        state = self._read().state
        if self._settings.take_over and job not in state.jobs:
            return state.reached()
        return state.positions_of(job)

    def committed_source(self, job: str) -> SourceIds:
        return self._read().state.source_of(job)

    def schema(self) -> pa.Schema | None:
        return self._read().schema

    def claim(self, job: str) -> None:
        """See ``Table``."""
        self._begin(job)
        state = self._read().state
        raise_if_owned_by_another(state, self.url, job, take_over=self._settings.take_over)

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
        """See ``Table``."""
        self._begin(job)
        positions = normal(positions)
        token = uuid.uuid4().hex
        for _ in range(COMMIT_ATTEMPTS_MAX):
            snapshot = self._read()
            state = snapshot.state
            if job in state.jobs and state.jobs[job].token == token:
                # The attempt before this one went in, and its answer got lost.
                self._begin_to_write()
                return True
            if is_replay(
                state,
                self.url,
                job=job,
                batch_id=batch_id,
                files=[*files, *parked],
                positions=positions,
                take_over=self._settings.take_over,
            ):
                return False
            merged = self._merged_schema(snapshot, schema)
            after = state.after(job, batch_id, positions, source, token)
            try:
                self._write(snapshot, Commit(after, merged, files, parked))
            except ConcurrentCommit:
                continue
            return True
        raise self._too_busy()

    @abstractmethod
    def _read(self) -> Snapshot[Version]: ...

    @abstractmethod
    def _write(self, snapshot: Snapshot[Version], commit: Commit) -> None: ...

    @abstractmethod
    def _begin_to_write(self) -> None: ...

    def _as_stored(self, schema: pa.Schema) -> pa.Schema:
        """The types that a reader of the format gets for these."""
        return schema

    def _begin(self, job: str) -> None:
        if self._lock is not None:
            self._lock.acquire(job)
        self._begin_to_write()

    def _merged_schema(self, snapshot: Snapshot[Version], added: pa.Schema) -> pa.Schema:
        merged = merge_schemas(snapshot.schema, self._as_stored(added), self.url)
        raise_if_reserved(merged, self.layout.columns, self.url)
        return merged

    def _too_busy(self) -> TargetInUse:
        return TargetInUse(f"others commit to {self.url} all the time")

"""A Delta table, written by the ``deltalake`` package; no Spark, no jar.

Each commit carries two application transactions: the job with the number of its batch, as Delta's
own writers do it, and a number that all commits of Headrace share. Delta lets two appends pass that
know nothing of each other, but not two commits of the same application: the second one fails, reads
the table again and decides anew.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from deltalake import (
    BloomFilterProperties,
    ColumnProperties,
    CommitProperties,
    DeltaTable,
    Schema,
    Transaction,
    WriterProperties,
)
from deltalake.exceptions import (
    CommitFailedError,
    DeltaError,
    SchemaMismatchError,
    TableNotFoundError,
)
from deltalake.transaction import AddAction

from headrace.pipeline.errors import SchemaConflict
from headrace.pipeline.tables.commit_record import STATE, CommitRecord, record_from
from headrace.pipeline.tables.commit_rules import EMPTY_STATE
from headrace.pipeline.tables.committing import (
    COMMIT_ATTEMPTS_MAX,
    Commit,
    CommittingTable,
    Snapshot,
)
from headrace.pipeline.tables.errors import (
    ConcurrentCommit,
    DamagedTable,
    ForeignTable,
    refusal,
)
from headrace.pipeline.tables.file_layout import FileLayout, table_root
from headrace.pipeline.tables.file_names import NO_VALUE, PARTITION_COLUMNS
from headrace.pipeline.tables.file_options import (
    BLOOM_FALSE_POSITIVES,
    COMPRESSION_LEVELS,
    KEY,
    ROW_GROUP_ROWS,
)
from headrace.pipeline.tables.schemas import PARKED_SCHEMA, plain_schema
from headrace.pipeline.tables.settings import MINUTE_MS
from headrace.pipeline.tables.small_files import LocalFiles
from headrace.pipeline.tables.table import COMPACTION_TARGET_BYTES, CompactionReport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headrace.pipeline.tables.data_file import DataFile
    from headrace.pipeline.tables.settings import TableSettings

APPLICATION = "headrace"
PARKED_DIRECTORY = "_parked"
"""Hidden from readers of the table above, and from its vacuum."""
MARK = {"headrace.format": "1"}
"""Property of tables that Headrace made."""
HISTORY_STEPS = (1, 20, 1000)
"""How far back the last commit of ours is looked for; others only optimise and vacuum."""
_COMPRESSIONS: dict[str, Any] = {
    "zstd": "ZSTD",
    "snappy": "SNAPPY",
    "lz4": "LZ4_RAW",
    "none": "UNCOMPRESSED",
}
_PARTITION_TYPES = dict(zip(PARTITION_COLUMNS, (pa.date32(), pa.int32()), strict=True))
_HOUR_MS = 60 * MINUTE_MS


class DeltaVersion(NamedTuple):
    """A handle that stays at its version, and the record of the last commit of ours."""

    table: DeltaTable
    record: CommitRecord


class DeltaLakeTable(CommittingTable[DeltaVersion]):
    """See ``Table`` for the verbs."""

    kind = "delta"

    def __init__(self, url: str, settings: TableSettings) -> None:
        layout = FileLayout(
            table_root(url),
            "",
            PARKED_DIRECTORY,
            columns=settings.columns,
            bucket_ms=settings.bucket_ms,
            compression=settings.compression,
        )
        super().__init__(layout, settings)
        self._storage_options = dict(settings.storage) or None
        self._is_parked_certain = False
        self._raise_if_partitioned_otherwise()

    def files(self) -> list[str]:
        table = self._open(self.url)
        return [] if table is None else list(table.file_uris())

    def parked_files(self) -> list[str]:
        table = self._open(self.layout.url_of(PARKED_DIRECTORY))
        return [] if table is None else list(table.file_uris())

    def compact(self, target_bytes: int = COMPACTION_TARGET_BYTES) -> CompactionReport:
        """By Delta's own writer, with settings as near to those of tasks as it has them."""
        self._begin_to_write()  # parked files that a crash kept from their table are no waste
        version = self._read().version
        if version is None:
            return CompactionReport()
        report = self._compact(version.table, target_bytes)
        if report.files_before:
            self._renew_record()
        parked = self._open(self.layout.url_of(PARKED_DIRECTORY))
        return report if parked is None else report.plus(self._compact(parked, target_bytes))

    def _compact(self, table: DeltaTable, target_bytes: int) -> CompactionReport:
        with _errors_named(self.url):
            try:
                metrics = table.optimize.compact(
                    target_size=target_bytes,
                    writer_properties=_writing(self.layout.compression),
                )
            except CommitFailedError:  # somebody removed the files: compaction can wait
                return CompactionReport()
            self._vacuum(table)
        return _report(metrics)

    def _read(self) -> Snapshot[DeltaVersion]:
        table = self._open(self.url)
        if table is None:
            return Snapshot(EMPTY_STATE, None, None)
        record = self._record_of(table)
        schema = plain_schema(pa.schema(table.schema()))
        own = [field for field in schema if field.name not in self.layout.columns]
        return Snapshot(record.state, pa.schema(own), DeltaVersion(table, record))

    def _as_stored(self, schema: pa.Schema) -> pa.Schema:
        try:
            return pa.schema(Schema.from_arrow(plain_schema(schema)))
        except Exception as error:  # it raises nothing more exact, with a stack of Rust behind it
            reason = str(error).partition("\n")[0]
            raise SchemaConflict(f"{self.url} cannot take these columns: {reason}") from error

    def _begin_to_write(self) -> None:
        if self._is_parked_certain:
            return
        table = self._open(self.url)
        if table is not None:
            self._add_parked(self._record_of(table))
        elif self.layout.is_local and os.path.exists(self.layout.url_of("_headrace/current")):
            raise ForeignTable(f"{self.url} is a plain table; choose another directory")
        self._is_parked_certain = True

    def _write(self, snapshot: Snapshot[DeltaVersion], commit: Commit) -> None:
        if self.layout.is_local:
            written = LocalFiles(self.url, is_synced=self._settings.is_synced)
            written.sync(file.path for file in (*commit.files, *commit.parked))
        table = self._with_columns(snapshot, commit.schema)
        sequence = self._next_sequence(table)
        record = CommitRecord(sequence, commit.state, tuple(commit.parked))
        owner = commit.state.owner or ""
        transactions = [
            Transaction(APPLICATION, sequence),
            Transaction(f"{APPLICATION}:{owner}", commit.state.batch_of(owner) or 0),
        ]
        self._is_parked_certain = False
        self._append(table, commit.files, record.to_properties(), transactions)
        self._add_parked(record)
        self._is_parked_certain = True

    def _renew_record(self) -> None:
        """Delta forgets old commits, also the last one of ours, if only others follow it."""
        version = self._read().version
        if version is None or version.record.sequence == 0:
            return
        self._add_parked(version.record)  # whoever reads ours will not know of them
        sequence = self._next_sequence(version.table)
        record = CommitRecord(sequence, version.record.state)
        try:
            self._append(
                version.table, [], record.to_properties(), [Transaction(APPLICATION, sequence)]
            )
        except ConcurrentCommit:  # a batch: its record is newer than ours
            return

    def _append(
        self,
        table: DeltaTable,
        files: Sequence[DataFile],
        metadata: dict[str, str],
        transactions: list[Transaction],
    ) -> None:
        with _errors_named(self.url):
            try:
                table.create_write_transaction(
                    [_action(file) for file in files],
                    mode="append",
                    schema=table.schema(),
                    partition_by=list(table.metadata().partition_columns),
                    commit_properties=CommitProperties(
                        custom_metadata=metadata, app_transactions=transactions
                    ),
                )
            except CommitFailedError as error:
                raise ConcurrentCommit(f"another commit to {self.url} was first") from error

    def _with_columns(self, snapshot: Snapshot[DeltaVersion], schema: pa.Schema) -> DeltaTable:
        """The table if it has these columns; else they are added first, and it is read again."""
        if snapshot.version is None:
            partition_types = zip(
                self.layout.columns, list(_PARTITION_TYPES.values()), strict=False
            )
            whole = pa.schema([*schema, *(pa.field(*each) for each in partition_types)])
            self._create(self.url, whole, list(self.layout.columns))
            raise ConcurrentCommit(f"{self.url} is there now, whoever made it")
        if schema == snapshot.schema:
            return snapshot.version.table
        known = snapshot.schema or pa.schema([])
        wider = [
            field
            for field in schema
            if field.name not in known.names or known.field(field.name) != field
        ]
        with _errors_named(self.url), suppress(CommitFailedError):
            snapshot.version.table.alter.add_columns(Schema.from_arrow(pa.schema(wider)).fields)
        raise ConcurrentCommit(f"the columns of {self.url} have changed")

    def _add_parked(self, record: CommitRecord) -> None:
        """Add the bad records of the last batch to their table, unless that is done."""
        if not record.parked:
            return
        url = self.layout.url_of(PARKED_DIRECTORY)
        inside = [
            file._replace(path=file.path.removeprefix(f"{PARKED_DIRECTORY}/"))
            for file in record.parked
        ]
        for _ in range(COMMIT_ATTEMPTS_MAX):
            table = self._open(url) or self._create(url, PARKED_SCHEMA, [])
            if (table.transaction_version(APPLICATION) or 0) >= record.sequence:
                return
            try:
                self._append(table, inside, {}, [Transaction(APPLICATION, record.sequence)])
            except ConcurrentCommit:  # look whether it was for the same batch
                continue
        raise self._too_busy()

    def _record_of(self, table: DeltaTable) -> CommitRecord:
        is_ours = MARK.items() <= table.metadata().configuration.items()
        if not is_ours and not self._settings.take_over:
            raise ForeignTable(
                f"{self.url} is a table of somebody else; choose another directory, "
                f"or let the job take it over (option takeover=true)"
            )
        if table.transaction_version(APPLICATION) is None:
            return CommitRecord()
        for limit in HISTORY_STEPS:
            for entry in table.history(limit):
                if STATE in entry:
                    return record_from(entry, self.url)
        raise DamagedTable(f"the last batch of {self.url} is no longer in its log")

    def _next_sequence(self, table: DeltaTable) -> int:
        return (table.transaction_version(APPLICATION) or 0) + 1

    def _open(self, url: str) -> DeltaTable | None:
        with _errors_named(url):
            try:
                return DeltaTable(url, storage_options=self._storage_options)
            except TableNotFoundError:
                return None

    def _create(self, url: str, schema: pa.Schema, columns: list[str]) -> DeltaTable:
        with _errors_named(url):
            with suppress(CommitFailedError):  # somebody else has just made it
                DeltaTable.create(
                    url,
                    schema,
                    mode="ignore",
                    partition_by=columns,
                    configuration=MARK,
                    storage_options=self._storage_options,
                    raise_if_key_not_exists=False,
                )
            return DeltaTable(url, storage_options=self._storage_options)

    def _vacuum(self, table: DeltaTable) -> None:
        """Replaced files after the retention time; those of replays and failed tasks later."""
        for is_full, age_ms in (
            (False, self._settings.retention_ms),
            (True, max(self._settings.orphan_age_ms, self._settings.retention_ms)),
        ):
            hours = -(-age_ms // _HOUR_MS)
            if table.vacuum(hours, dry_run=True, enforce_retention_duration=False, full=is_full):
                table.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=is_full)

    def _raise_if_partitioned_otherwise(self) -> None:
        table = self._open(self.url)
        if table is None:
            return
        columns = tuple(table.metadata().partition_columns)
        if columns != self.layout.columns:
            raise SchemaConflict(
                f"{self.url} is partitioned by {columns}, and not by {self.layout.columns}"
            )


def _action(file: DataFile) -> AddAction:
    return AddAction(
        path=file.path,
        size=file.size_bytes,
        partition_values={
            column: None if value == NO_VALUE else value
            for column, value in file.partition_values.items()
        },
        modification_time=time.time_ns() // 1_000_000,
        data_change=True,
        stats=file.statistics or json.dumps({"numRecords": file.rows}),
    )


def _writing(compression: str) -> WriterProperties:
    bloom = BloomFilterProperties(True, fpp=BLOOM_FALSE_POSITIVES, ndv=ROW_GROUP_ROWS)
    return WriterProperties(
        compression=_COMPRESSIONS[compression],
        compression_level=COMPRESSION_LEVELS.get(compression),
        max_row_group_size=ROW_GROUP_ROWS,
        column_properties={KEY: ColumnProperties(bloom_filter_properties=bloom)},
    )


def _report(metrics: Mapping[str, Any]) -> CompactionReport:
    return CompactionReport(
        files_before=metrics["numFilesRemoved"],
        files_after=metrics["numFilesAdded"],
        bytes_before=json.loads(metrics["filesRemoved"]).get("totalSize", 0),
        bytes_after=json.loads(metrics["filesAdded"]).get("totalSize", 0),
    )


@contextmanager
def _errors_named(url: str) -> Iterator[None]:
    """What ``deltalake`` raises becomes an error in a person's words."""
    try:
        yield
    except SchemaMismatchError as error:
        raise SchemaConflict(f"{url} cannot take these columns: {error}") from error
    except (DeltaError, OSError) as error:
        raise refusal(url, error) from error

"""An Iceberg table, written by ``pyiceberg``; no Spark, no jar.

Without a catalog of its own the table's catalog is an SQLite file beside its data. What Headrace
has to remember is kept in the table's properties, set in the same transaction as the files are
added; the snapshots carry it too, for people. A transaction is built on one snapshot and fails if
there is a newer one: ``pyiceberg`` would then simply try again, which is wrong for us and switched
off.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.io.pyarrow import parquet_files_to_data_files
from pyiceberg.table import Table as Iceberg
from pyiceberg.transforms import DayTransform, HourTransform

from headrace.model.errors import InvalidConfig
from headrace.pipeline.errors import SchemaConflict
from headrace.pipeline.tables.commit_record import SEQUENCE, STATE, CommitRecord, record_from
from headrace.pipeline.tables.commit_rules import EMPTY_STATE
from headrace.pipeline.tables.committing import (
    COMMIT_ATTEMPTS_MAX,
    Commit,
    CommittingTable,
    Snapshot,
)
from headrace.pipeline.tables.errors import ConcurrentCommit, ForeignTable, TimeBeyondCalendar
from headrace.pipeline.tables.file_layout import FileLayout, table_root
from headrace.pipeline.tables.file_names import DAY_MS, HOUR_MS, NO_VALUE, calendar_values
from headrace.pipeline.tables.file_options import KEY, is_whole
from headrace.pipeline.tables.iceberg_errors import errors_named
from headrace.pipeline.tables.rewriting import merge_into, plan_merges
from headrace.pipeline.tables.schemas import PARKED_SCHEMA, plain_schema
from headrace.pipeline.tables.small_files import LocalFiles
from headrace.pipeline.tables.statistics import TIMESTAMP_COLUMN
from headrace.pipeline.tables.table import COMPACTION_TARGET_BYTES, CompactionReport

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import DataFile as IcebergFile

    from headrace.pipeline.tables.data_file import DataFile
    from headrace.pipeline.tables.settings import TableSettings

CATALOG_FILE = "_headrace/catalog.db"
DATA_DIRECTORY = "data"
PARKED_DIRECTORY = "_parked"
RETRIES = "commit.retry.num-retries"
PROPERTIES = {
    RETRIES: "0",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    "commit.manifest-merge.enabled": "true",
}
_TRANSFORMS = {HOUR_MS: HourTransform, DAY_MS: DayTransform}
_STORED_TYPES = {
    pa.int8(): pa.int32(),
    pa.int16(): pa.int32(),
    pa.uint8(): pa.int32(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
}


class IcebergTable(CommittingTable[Iceberg]):
    """See ``Table`` for the verbs."""

    kind = "iceberg"

    def __init__(
        self,
        url: str,
        settings: TableSettings,
        *,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        layout = FileLayout(
            table_root(url),
            DATA_DIRECTORY,
            f"{PARKED_DIRECTORY}/{DATA_DIRECTORY}",
            columns=settings.columns,
            bucket_ms=settings.bucket_ms,
            needs_calendar=True,
            compression=settings.compression,
        )
        super().__init__(layout, settings)
        if not layout.is_local and not settings.catalog:
            raise InvalidConfig(
                f"{url} is in an object store, where an Iceberg table needs a catalog (options "
                "catalog.type, catalog.uri)"
            )
        self._now_ms = now_ms
        self._catalog: Catalog | None = None
        self._is_parked_certain = False
        self._raise_if_partitioned_otherwise()

    def close(self) -> None:
        super().close()
        if self._catalog is not None:
            self._catalog.close()

    def files(self) -> list[str]:
        return _paths(self._load(self._settings.table))

    def parked_files(self) -> list[str]:
        return _paths(self._load(self._parked_name))

    def compact(self, target_bytes: int = COMPACTION_TARGET_BYTES) -> CompactionReport:
        self._begin_to_write()  # parked files that a crash kept from their table are no waste
        report = self._compact(self._read().version, DATA_DIRECTORY, target_bytes)
        parked = self._load(self._parked_name)
        return report.plus(self._compact(parked, self.layout.parked_directory, target_bytes))

    def _compact(
        self,
        table: Iceberg | None,
        directory: str,
        target_bytes: int,
    ) -> CompactionReport:
        if table is None or table.current_snapshot() is None:
            return CompactionReport()
        # Files with rows deleted by others keep to themselves.
        files = [task.file for task in table.scan().plan_files() if not task.delete_files]
        plan = plan_merges(
            sorted(files, key=lambda file: file.file_path),
            target_bytes,
            group_of=lambda file: (os.path.dirname(file.file_path), repr(file.partition)),
            size_of=lambda file: file.file_size_in_bytes,
        )
        schema = plain_schema(table.schema().as_arrow())
        merged = [self._merge(merge, schema) for merge in plan.merges]
        retired = [file for merge in plan.merges for file in merge]
        with errors_named(self.url):
            try:
                if merged:
                    _replace(table, retired, [self._file_url(file.path) for file in merged])
                self._clean_up(table, directory)
            except CommitFailedException:  # somebody committed a batch: compaction can wait
                return CompactionReport()
        return CompactionReport(
            files_before=len(retired),
            files_after=len(merged),
            bytes_before=sum(file.file_size_in_bytes for file in retired),
            bytes_after=sum(file.size_bytes for file in merged),
            is_complete=plan.is_complete,
        )

    def _read(self) -> Snapshot[Iceberg]:
        table = self._load(self._settings.table)
        if table is None:
            return Snapshot(EMPTY_STATE, None, None)
        schema = plain_schema(table.schema().as_arrow())
        return Snapshot(self._record_of(table).state, schema, table)

    def _begin_to_write(self) -> None:
        if self._is_parked_certain:
            return
        table = self._load(self._settings.table)
        if table is not None:
            self._add_parked(self._record_of(table))
        elif self.layout.is_local and os.path.exists(self.layout.url_of("_headrace/current")):
            raise ForeignTable(f"{self.url} is a plain table; choose another directory")
        self._is_parked_certain = True

    def _as_stored(self, schema: pa.Schema) -> pa.Schema:
        return pa.schema([pa.field(each.name, _stored_type(each.type)) for each in schema])

    def _write(self, snapshot: Snapshot[Iceberg], commit: Commit) -> None:
        if snapshot.version is None:
            self._create(self._settings.table, commit.schema, self.url)
            raise ConcurrentCommit(f"{self.url} is there now, whoever made it")
        if self.layout.is_local:
            written = LocalFiles(self.url, is_synced=self._settings.is_synced)
            written.sync(file.path for file in (*commit.files, *commit.parked))
        self._raise_if_beyond_calendar(commit.files)
        table = snapshot.version
        self._switch_retries_off(table)
        sequence = self._record_of(table).sequence + 1
        record = CommitRecord(sequence, commit.state, tuple(commit.parked))
        self._is_parked_certain = False
        new_schema = None if commit.schema == snapshot.schema else commit.schema
        self._append(table, commit.files, record, new_schema)
        self._add_parked(record)
        self._is_parked_certain = True

    def _switch_retries_off(self, table: Iceberg) -> None:
        """Of a table that somebody else made; ours are made so."""
        if table.properties.get(RETRIES) != "0":
            with errors_named(self.url), table.transaction() as transaction:
                transaction.set_properties({RETRIES: "0"})
            raise ConcurrentCommit(f"the properties of {self.url} have changed")

    def _append(
        self,
        table: Iceberg,
        files: Sequence[DataFile],
        record: CommitRecord,
        new_schema: pa.Schema | None = None,
    ) -> None:
        properties = record.to_properties()
        with errors_named(self.url):
            try:
                with table.transaction() as transaction:
                    if new_schema is not None:
                        with transaction.update_schema() as update:
                            update.union_by_name(new_schema)
                    transaction.set_properties(properties)
                    transaction.add_files(
                        [self._file_url(file.path) for file in files],
                        snapshot_properties=properties,
                        check_duplicate_files=False,  # each has a random token in its name
                    )
            except (CommitFailedException, CommitStateUnknownException) as error:
                # In the second case ours may be in; either way the table tells what is true now.
                raise ConcurrentCommit(f"another commit to {self.url} was first") from error

    def _add_parked(self, record: CommitRecord) -> None:
        """Add the bad records of the last batch to their table, unless that is done."""
        if not record.parked:
            return
        for _ in range(COMMIT_ATTEMPTS_MAX):
            table = self._load(self._parked_name)
            if table is None:
                self._create(self._parked_name, PARKED_SCHEMA, self.layout.url_of(PARKED_DIRECTORY))
                continue
            if int(table.properties[SEQUENCE]) >= record.sequence:
                return
            try:
                self._append(table, record.parked, CommitRecord(record.sequence))
            except ConcurrentCommit:  # look whether it was for the same batch
                continue
        raise self._too_busy()

    def _record_of(self, table: Iceberg) -> CommitRecord:
        if STATE in table.properties:
            return record_from(table.properties, self.url)
        if self._settings.take_over:
            return CommitRecord()
        raise ForeignTable(
            f"{self.url} is a table of somebody else; choose another one, "
            f"or let the job take it over (option takeover=true)"
        )

    @property
    def _parked_name(self) -> str:
        return f"{self._settings.table}_parked"

    def _file_url(self, path: str) -> str:
        url = self.layout.url_of(path)
        return f"file://{url}" if self.layout.is_local else url

    def _open_catalog(self) -> Catalog:
        if self._catalog is None:
            properties = dict(self._settings.catalog)
            if not properties:
                os.makedirs(os.path.dirname(self.layout.url_of(CATALOG_FILE)), exist_ok=True)
                uri = f"sqlite:///{self.layout.url_of(CATALOG_FILE)}"
                properties = {"type": "sql", "uri": uri, "warehouse": f"file://{self.url}"}
            name = properties.pop("name", "headrace")
            self._catalog = load_catalog(name, **{**properties, **self._settings.storage})
        return self._catalog

    def _load(self, name: str) -> Iceberg | None:
        is_own = not self._settings.catalog
        if is_own and not os.path.exists(self.layout.url_of(CATALOG_FILE)):
            return None
        with errors_named(self.url):
            try:
                return self._open_catalog().load_table(name)
            except NoSuchTableError:
                return None

    def _create(self, name: str, schema: pa.Schema, location: str) -> None:
        """Does nothing if it is there; partitions are hidden ones, by the record's time."""
        location = f"file://{location}" if self.layout.is_local else location
        with errors_named(self.url):
            catalog = self._open_catalog()
            catalog.create_namespace_if_not_exists(name.rpartition(".")[0])
            try:
                with catalog.create_table_transaction(
                    name,
                    schema=schema,
                    location=location,
                    properties={
                        **PROPERTIES,
                        **_metrics_properties(schema),
                        **CommitRecord().to_properties(),
                    },
                ) as transaction:
                    if name == self._settings.table and self.layout.bucket_ms is not None:
                        self._raise_if_without_time(schema)
                        with transaction.update_spec() as update:
                            transform = _TRANSFORMS[self.layout.bucket_ms]()
                            update.add_field(TIMESTAMP_COLUMN, transform)
            except (
                TableAlreadyExistsError,
                CommitFailedException,
                CommitStateUnknownException,
            ):
                return

    def _merge(
        self,
        sources: Sequence[IcebergFile],
        schema: pa.Schema,
    ) -> DataFile:
        urls = [file.file_path for file in sources]
        new = self.layout.new_merged_file(self._relative(urls[0]), urls)
        local = [_local(url) for url in urls]
        merged = merge_into(self.layout, new, local, schema)
        if self.layout.is_local:
            LocalFiles(self.url, is_synced=self._settings.is_synced).sync([new.path])
        return merged

    def _relative(self, url: str) -> str:
        return _local(url).removeprefix(f"{self.url}/")

    def _clean_up(self, table: Iceberg, directory: str) -> None:
        """Snapshots that are older than the retention time, then files that none of them has."""
        moment = datetime.fromtimestamp(0, UTC) + timedelta(
            milliseconds=self._now_ms() - self._settings.retention_ms
        )
        table.refresh()
        if any(each.timestamp_ms < moment.timestamp() * 1000 for each in table.snapshots()[:-1]):
            table.maintenance.expire_snapshots().older_than(moment).commit()
        if not self.layout.is_local:
            return
        table.refresh()
        named = _named_files(table)
        before_ms = self._now_ms() - self._settings.orphan_age_ms
        files = LocalFiles(self.url)
        for path, modified_ms in list(files.listing(directory)):
            if self.layout.url_of(path) not in named and modified_ms <= before_ms:
                files.remove(path)

    def _raise_if_beyond_calendar(self, files: Sequence[DataFile]) -> None:
        """``pyiceberg`` reads the bounds of each file as dates of Python."""
        for file in files:
            for moment in (file.timestamp_ms_min, file.timestamp_ms_max):
                if moment is not None and NO_VALUE in calendar_values(moment, ("date",)).values():
                    ranges = ", ".join(map(str, file.ranges))
                    raise TimeBeyondCalendar(
                        f"{self.url} cannot take records of {ranges} with a time of {moment} ms"
                    )

    def _raise_if_without_time(self, schema: pa.Schema) -> None:
        index = schema.get_field_index(TIMESTAMP_COLUMN)
        if index < 0 or not pa.types.is_timestamp(schema.field(index).type):
            raise SchemaConflict(
                f"{self.url} is to be partitioned by time, and the records have no column "
                f"{TIMESTAMP_COLUMN!r} with one; partition it by none"
            )

    def _raise_if_partitioned_otherwise(self) -> None:
        table = self._load(self._settings.table)
        if table is None:
            return
        found = [type(field.transform) for field in table.spec().fields]
        wanted = [] if self.layout.bucket_ms is None else [_TRANSFORMS[self.layout.bucket_ms]]
        if found != wanted:
            raise SchemaConflict(f"{self.url} is partitioned by {table.spec()}, not by {wanted}")


def _metrics_properties(schema: pa.Schema) -> dict[str, str]:
    """Files have no statistics of whole values; ``pyiceberg`` would complain each time."""
    names = [field.name for field in schema if is_whole(field) and field.name != KEY]
    return {f"write.metadata.metrics.column.{name}": "none" for name in names}


def _replace(table: Iceberg, retired: Sequence[IcebergFile], merged: Sequence[str]) -> None:
    """One snapshot in which the merged files stand for the others."""
    with table.transaction() as transaction, transaction.update_snapshot().overwrite() as update:
        for file in retired:
            update.delete_data_file(file)
        for new in parquet_files_to_data_files(table.io, transaction.table_metadata, iter(merged)):
            update.append_data_file(new)


def _paths(table: Iceberg | None) -> list[str]:
    if table is None:
        return []
    return [_local(task.file.file_path) for task in table.scan().plan_files()]


def _named_files(table: Iceberg) -> set[str]:
    """Of all snapshots; ``pyiceberg`` cannot list the files of a table that has never had any."""
    if not any(snapshot.manifests(table.io) for snapshot in table.snapshots()):
        return set()
    return {_local(each.as_py()) for each in table.inspect.all_data_files()["file_path"]}


def _local(url: str) -> str:
    return url.removeprefix("file://")


def _stored_type(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", type_.tz)
    return _STORED_TYPES.get(type_, type_)

"""Iceberg tables: hidden partitions, catalogs, and what happens between two tables."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitStateUnknownException,
    ForbiddenError,
    ServiceUnavailableError,
    ValidationError,
)
from pyiceberg.transforms import HourTransform
from sqlalchemy.exc import OperationalError

from headrace.model.errors import InvalidConfig
from headrace.pipeline.errors import SchemaConflict, TargetFull, TargetNotWritable
from headrace.pipeline.tables import open_table
from headrace.pipeline.tables.errors import ForeignTable, TargetUnreachable, TimeBeyondCalendar
from headrace.pipeline.tables.file_options import writer_options
from headrace.pipeline.tables.iceberg import IcebergTable
from headrace.pipeline.tables.iceberg_errors import errors_named
from headrace.pipeline.tables.settings import table_settings

from .batches import (
    HOUR_MS,
    JOB,
    SCHEMA,
    START_MS,
    commit_batch,
    count,
    positions_after,
    ranges_of,
    rows_of,
)

WHOLE = pa.schema([("timestamp", pa.timestamp("us", "UTC")), ("value", pa.binary())])


class Death(BaseException):
    """The process ends here, so to speak."""


@pytest.fixture
def root(tmp_path):
    return str(tmp_path / "orders")


@pytest.fixture
def table(root):
    with open_table("iceberg", root, options={"sync": "false"}) as opened:
        yield opened


@pytest.fixture
def catalog(root, tmp_path):
    """The one that the table makes for itself, opened by somebody else."""
    uri = f"sqlite:///{root}/_headrace/catalog.db"
    os.makedirs(f"{root}/_headrace", exist_ok=True)
    with load_catalog("headrace", type="sql", uri=uri, warehouse=f"file://{root}") as opened:
        yield opened


def test_iceberg_readers_read_it(catalog, table):
    commit_batch(table, 0)
    commit_batch(table, 1, timestamp_ms=START_MS + HOUR_MS)
    iceberg = catalog.load_table("headrace.records")
    assert iceberg.scan().to_arrow().num_rows == rows_of(2)
    assert isinstance(iceberg.spec().fields[0].transform, HourTransform)
    late = iceberg.scan(row_filter="timestamp >= '2026-11-16T11:00:00+00:00'")
    assert len(list(late.plan_files())) == 2


def test_the_snapshot_says_which_batch_it_is(catalog, table):
    commit_batch(table, 0)
    snapshot = catalog.load_table("headrace.records").current_snapshot()
    assert '"batch_id":0' in snapshot.summary["headrace.state"]


@pytest.mark.parametrize("moment", ["_append", "_add_parked"])
def test_a_death_before_or_between_the_tables_does_no_harm(root, table, moment, monkeypatch):
    commit_batch(table, 0, parked=True)

    def die(*arguments):
        raise Death

    with monkeypatch.context() as patch:
        patch.setattr(table, moment, die)
        with pytest.raises(Death):
            commit_batch(table, 1, parked=True)
    assert count(table.parked_files()) == (2, 2)
    table.close()
    with open_table("iceberg", root) as again:
        assert again.committed_batch(JOB) == (0 if moment == "_append" else 1)
        commit_batch(again, 1, parked=True)
        assert count(again.files()) == (rows_of(2), rows_of(2))
        assert count(again.parked_files()) == (4, 4)
        commit_batch(again, 2, parked=True)
        assert count(again.parked_files()) == (6, 6)


def test_replaced_files_and_snapshots_go_after_their_time(root, catalog):
    late = [0]
    settings = table_settings("hour", {"sync": "false"})
    now_ms = int(os.stat(root).st_mtime * 1000)
    with IcebergTable(root, settings, now_ms=lambda: now_ms + late[0]) as table:
        for batch_id in range(3):
            commit_batch(table, batch_id)
        table.compact()
        commit_batch(table, 3)
        folder = os.path.dirname(table.files()[0])
        assert len(os.listdir(folder)) == 9
        late[0] = 25 * HOUR_MS
        table.compact()
        assert len(catalog.load_table("headrace.records").snapshots()) == 1
        assert [os.path.join(folder, each) for each in os.listdir(folder)] == table.files()
        assert count(table.files()) == (rows_of(4), rows_of(4))
        assert not commit_batch(table, 3)


def test_a_catalog_of_ones_own(root, tmp_path):
    catalog = {
        "catalog.type": "sql",
        "catalog.name": "company",
        "catalog.uri": f"sqlite:///{tmp_path}/company.db",
        "table": "sales.orders",
    }
    with open_table("iceberg", root, options=catalog) as table:
        assert commit_batch(table, 0, parked=True)
        assert count(table.files()) == (rows_of(1), rows_of(1))
        assert count(table.parked_files()) == (2, 2)
    assert not os.path.exists(f"{root}/_headrace/catalog.db")
    with load_catalog("company", type="sql", uri=f"sqlite:///{tmp_path}/company.db") as company:
        assert company.load_table("sales.orders").scan().to_arrow().num_rows == rows_of(1)


def test_a_table_of_somebody_else_is_left_alone(root, catalog):
    catalog.create_namespace("headrace")
    catalog.create_table("headrace.records", schema=pa.schema([("offset", pa.int64())]))
    with open_table("iceberg", root, partition_by="none") as table, pytest.raises(ForeignTable):
        commit_batch(table, 0)


def test_partitions_by_time_need_a_time(table):
    with pytest.raises(SchemaConflict, match="timestamp"):
        table.commit(JOB, 0, [], [], pa.schema([("offset", pa.int64())]), {})


def test_small_integers_are_stored_as_larger_ones(table):
    schema = SCHEMA.append(pa.field("small", pa.int16()))
    commit_batch(table, 0, schema=schema)
    assert commit_batch(table, 1, schema=schema)
    assert table.schema().field("small").type == pa.int32()


def test_times_that_no_calendar_has_are_refused_by_name(table):
    with pytest.raises(TimeBeyondCalendar, match="300000000000000 ms"):
        commit_batch(table, 0, timestamp_ms=3 * 10**14)
    assert table.files() == []


def test_an_object_store_needs_a_catalog():
    with pytest.raises(InvalidConfig, match=r"catalog\.uri"):
        open_table("iceberg", "s3://lake/orders")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OperationalError("insert", {}, Exception("database is locked")), TargetUnreachable),
        (OperationalError("insert", {}, Exception("readonly database")), TargetNotWritable),
        (OperationalError("insert", {}, Exception("database or disk is full")), TargetFull),
        (ServiceUnavailableError("503"), TargetUnreachable),
        (ForbiddenError("403"), TargetNotWritable),
        (OSError("no answer"), TargetUnreachable),
        (PermissionError(13, "no"), TargetNotWritable),
        (ValidationError("odd"), SchemaConflict),
    ],
)
def test_what_catalogs_say_has_names(error, kind):
    with pytest.raises(kind) as caught, errors_named("/lake"):
        raise error
    assert type(caught.value) is kind


def test_a_commit_of_unknown_outcome_is_looked_up(table, monkeypatch):
    commit_batch(table, 0)
    original = SqlCatalog.commit_table

    def commit_and_not_answer(self, *arguments):
        original(self, *arguments)
        raise CommitStateUnknownException("504")

    with monkeypatch.context() as patch:
        patch.setattr(SqlCatalog, "commit_table", commit_and_not_answer)
        assert commit_batch(table, 1)
    assert count(table.files()) == (rows_of(2), rows_of(2))
    assert not commit_batch(table, 1)


def test_commits_are_quiet(table, caplog):
    """Files without statistics of whole values are as they should be."""
    range_ = ranges_of(0)[0]
    new = table.layout.new_file(range_, table.layout.partition_values(START_MS))
    rows = pa.table({"timestamp": [START_MS * 1000], "value": [b"v"]}).cast(WHOLE)
    collected = []
    with (
        table.layout.open(new) as sink,
        pq.ParquetWriter(
            sink, WHOLE, metadata_collector=collected, **writer_options(WHOLE)
        ) as writer,
    ):
        writer.write_table(rows)
    file = table.layout.describe(new, collected[0])
    assert table.commit(JOB, 0, [file], [], WHOLE, positions_after(0))
    assert [each for each in caplog.records if each.name.startswith("pyiceberg")] == []

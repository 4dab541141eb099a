"""Delta tables: what Delta's log keeps, and what happens between two tables."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from headrace.pipeline.errors import SchemaConflict
from headrace.pipeline.tables import open_table
from headrace.pipeline.tables.errors import DamagedTable, ForeignTable
from headrace.pipeline.tables.file_names import NO_VALUE

from .batches import (
    JOB,
    SCHEMA,
    commit_batch,
    count,
    positions_after,
    ranges_of,
    rows_of,
    write_file,
)


class Death(BaseException):
    """The process ends here, so to speak."""


@pytest.fixture
def root(tmp_path):
    return str(tmp_path / "orders")


@pytest.fixture
def table(root):
    with open_table("delta", root, options={"sync": "false"}) as opened:
        yield opened


def test_delta_readers_read_it(root, table):
    commit_batch(table, 0)
    rows = DeltaTable(root).to_pyarrow_table()
    assert rows.num_rows == rows_of(1)
    assert rows.column_names == [*SCHEMA.names, "date", "hour"]
    assert set(rows["hour"].to_pylist()) == {10}


def test_statistics_are_in_the_log(root, table):
    commit_batch(table, 0)
    actions = pa.table(DeltaTable(root).get_add_actions(flatten=True)).to_pylist()
    assert {(each["min.offset"], each["max.offset"], each["num_records"]) for each in actions} == {
        (0, 9, 10)
    }
    assert actions[0]["min.timestamp"] == actions[0]["max.timestamp"]


def test_batches_are_application_transactions(root, table):
    commit_batch(table, 0)
    commit_batch(table, 1)
    table.compact()
    delta = DeltaTable(root)
    delta.create_checkpoint()
    assert DeltaTable(root).transaction_version(f"headrace:{JOB}") == 1
    assert not commit_batch(table, 1)


def test_others_may_optimise_in_between(root, table):
    commit_batch(table, 0)
    commit_batch(table, 1)
    for _ in range(25):
        DeltaTable(root).alter.set_table_description("more")
    DeltaTable(root).optimize.compact()
    assert table.committed_positions(JOB) == positions_after(1)
    assert commit_batch(table, 2)


def test_a_time_that_no_calendar_has_is_a_null_partition(root, table):
    range_ = ranges_of(0)[0]
    new = write_file(table, range_, timestamp_ms=2**50)
    assert set(new.partition_values.values()) == {NO_VALUE}
    assert table.commit(JOB, 0, [new], [], SCHEMA, positions_after(0))
    assert DeltaTable(root).partitions() == [{"date": None, "hour": None}]


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
    with open_table("delta", root) as again:
        assert again.committed_batch(JOB) == (0 if moment == "_append" else 1)
        commit_batch(again, 1, parked=True)
        assert count(again.files()) == (rows_of(2), rows_of(2))
        assert count(again.parked_files()) == (4, 4)
        commit_batch(again, 2, parked=True)
        assert count(again.parked_files()) == (6, 6)


def test_a_table_of_somebody_else_is_left_alone(root):
    write_deltalake(root, pa.table({"offset": [1]}))
    with open_table("delta", root, partition_by="none") as table, pytest.raises(ForeignTable):
        commit_batch(table, 0)
    with open_table("delta", root, partition_by="none", take_over=True) as table:
        assert commit_batch(table, 0)
    assert DeltaTable(root).count() == rows_of(1) + 1


def test_a_type_that_delta_has_not_is_a_conflict(table):
    schema = SCHEMA.append(pa.field("odd", pa.duration("s")))
    with pytest.raises(SchemaConflict, match="columns"):
        commit_batch(table, 0, schema=schema)


def test_a_log_without_our_last_commit_is_an_error(root, table, monkeypatch):
    commit_batch(table, 0)
    monkeypatch.setattr(DeltaTable, "history", lambda self, limit=None: [{"operation": "WRITE"}])
    with pytest.raises(DamagedTable, match="log"):
        table.committed_positions(JOB)


def test_a_record_that_is_not_ours_is_an_error(root, table, monkeypatch):
    commit_batch(table, 0)
    entry = {"headrace.state": json.dumps({"jobs": 7}), "headrace.sequence": "1"}
    monkeypatch.setattr(DeltaTable, "history", lambda self, limit=None: [entry])
    with pytest.raises(DamagedTable, match="record"):
        table.committed_positions(JOB)

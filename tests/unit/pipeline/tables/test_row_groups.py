"""Batches of any size in, row groups out."""

from __future__ import annotations

import pyarrow as pa
import pytest

from headrace.pipeline.tables import row_groups
from headrace.pipeline.tables.row_groups import RowGroups

SCHEMA = pa.schema([("n", pa.int64())])


def batch(first, count):
    return pa.RecordBatch.from_pydict({"n": list(range(first, first + count))}, schema=SCHEMA)


def sizes(groups):
    return [group.num_rows for group in groups]


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(row_groups, "ROW_GROUP_ROWS", 10)
    return RowGroups(SCHEMA)


def test_only_full_groups_come_out_before_the_rest(rows):
    assert sizes(rows.add(batch(0, 7))) == []
    assert rows.pending_bytes == 7 * 8
    assert sizes(rows.add(batch(7, 17))) == [10, 10]
    assert rows.pending_bytes == 4 * 8
    assert sizes(rows.add(batch(24, 6))) == [10]
    assert rows.pending_bytes == 0
    assert sizes(rows.add(batch(30, 1))) == []
    rest = rows.rest()
    assert [group["n"].to_pylist() for group in rest] == [[30]]
    assert rows.rest() == []


def test_order_is_kept(rows):
    groups = [group for first in range(0, 40, 4) for group in rows.add(batch(first, 4))]
    assert [n for group in groups for n in group["n"].to_pylist()] == list(range(40))


def test_large_rows_make_groups_of_fewer(rows, monkeypatch):
    monkeypatch.setattr(row_groups, "ROW_GROUP_BYTES", 24)
    assert sizes(rows.add(batch(0, 2))) == []
    assert sizes(rows.add(batch(2, 1))) == [3]

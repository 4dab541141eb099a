"""Which small files become one, and that nothing is lost on the way."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.tables import open_table, rewriting, row_groups
from headrace.pipeline.tables.errors import DamagedTable
from headrace.pipeline.tables.rewriting import (
    merge_files,
    merge_into,
    merge_ranges,
    plan_merges,
)


def plan(sizes, target_bytes=100):
    return plan_merges(
        enumerate(sizes), target_bytes, group_of=lambda file: "g", size_of=lambda file: file[1]
    ).merges


def test_small_neighbours_are_merged_up_to_the_target():
    merges = [[size for _, size in merge] for merge in plan([40, 40, 40, 40, 40])]
    assert merges == [[40, 40], [40, 40]]


def test_large_files_and_single_ones_are_left_alone():
    assert plan([75, 200, 30]) == []


def test_groups_are_kept_apart():
    plan = plan_merges(range(6), 100, group_of=lambda file: file % 3, size_of=lambda file: 1)
    assert plan == ([[0, 3], [1, 4], [2, 5]], True)


def test_one_compaction_has_a_limit(monkeypatch):
    monkeypatch.setattr(rewriting, "REWRITTEN_BYTES_MAX", 150)
    whole = plan_merges([50] * 8, 100, group_of=lambda file: "g", size_of=lambda file: file)
    assert whole == ([[50, 50]], False)


def test_adjoining_ranges_become_one():
    ranges = [
        OffsetRange("a", 1, 0, 5),
        OffsetRange("a", 0, 10, 20),
        OffsetRange("a", 0, 0, 10),
        OffsetRange("a", 0, 30, 40),
    ]
    assert merge_ranges(ranges) == (
        OffsetRange("a", 0, 0, 20),
        OffsetRange("a", 0, 30, 40),
        OffsetRange("a", 1, 0, 5),
    )


def write(tmp_path, name, **columns):
    path = str(tmp_path / name)
    pq.write_table(pa.table(columns), path)
    return path


def test_rows_keep_their_order_and_get_all_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(row_groups, "ROW_GROUP_ROWS", 3)
    monkeypatch.setattr(rewriting, "READ_ROWS_MAX", 2)
    sources = [write(tmp_path, "1", a=[1, 2, 3, 4]), write(tmp_path, "2", b=["x"], a=[5])]
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    with pa.OSFile(str(tmp_path / "merged"), "wb") as sink:
        metadata = merge_files(sources, sink, schema)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    assert [group.num_rows for group in groups] == [3, 2]
    assert groups[0].column(0).compression == "ZSTD"
    merged = pq.read_table(tmp_path / "merged").to_pydict()
    assert merged == {"a": [1, 2, 3, 4, 5], "b": [None, None, None, None, "x"]}


@pytest.mark.parametrize("data", [None, b"PAR1 but no more"])
def test_a_source_that_cannot_be_read_is_named(tmp_path, data):
    if data is not None:
        (tmp_path / "bad").write_bytes(data)
    schema = pa.schema([("a", pa.int64())])
    sink = pa.BufferOutputStream()
    with pytest.raises(DamagedTable, match="bad"):
        merge_files([str(tmp_path / "bad")], sink, schema)


def test_a_merge_that_fails_leaves_no_half_file(tmp_path):
    with open_table("plain", str(tmp_path / "lake")) as table:
        new = table.layout.new_file(OffsetRange("a", 0, 0, 5), {})
        with pytest.raises(DamagedTable):
            merge_into(table.layout, new, [str(tmp_path / "gone")], pa.schema([("a", pa.int64())]))
        assert not os.path.exists(new.url)


def test_large_rows_are_read_a_row_group_at_a_time(tmp_path):
    path = str(tmp_path / "large")
    pq.write_table(pa.table({"a": [1, 2, 3, 4, 5]}), path, row_group_size=2)
    with pq.ParquetFile(path) as file:
        assert [batch.num_rows for batch in rewriting._batches(file)] == [2, 2, 1]

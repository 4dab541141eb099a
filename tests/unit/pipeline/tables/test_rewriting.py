"""Which small files become one, and that nothing is lost on the way."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.tables import rewriting
from headrace.pipeline.tables.errors import DamagedTable
from headrace.pipeline.tables.rewriting import merge_files, merge_ranges, plan_merges


def plan(sizes, target_bytes=100):
    return plan_merges(
        enumerate(sizes), target_bytes, group_of=lambda file: "g", size_of=lambda file: file[1]
    )


def test_small_neighbours_are_merged_up_to_the_target():
    merges = [[size for _, size in merge] for merge in plan([40, 40, 40, 40, 40])]
    assert merges == [[40, 40], [40, 40]]


def test_large_files_and_single_ones_are_left_alone():
    assert plan([75, 200, 30]) == []


def test_groups_are_kept_apart():
    merges = plan_merges(range(6), 100, group_of=lambda file: file % 3, size_of=lambda file: 1)
    assert merges == [[0, 3], [1, 4], [2, 5]]


def test_one_compaction_has_a_limit(monkeypatch):
    monkeypatch.setattr(rewriting, "REWRITTEN_BYTES_MAX", 150)
    assert len(plan([50] * 8)) == 1


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
    monkeypatch.setattr(rewriting, "ROW_GROUP_ROWS_MAX", 3)
    monkeypatch.setattr(rewriting, "READ_ROWS_MAX", 2)
    sources = [write(tmp_path, "1", a=[1, 2, 3, 4]), write(tmp_path, "2", b=["x"], a=[5])]
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    with pa.OSFile(str(tmp_path / "merged"), "wb") as sink:
        metadata = merge_files(sources, sink, schema, {"compression": "none"})
    assert metadata.num_rows == 5
    assert metadata.num_row_groups > 1
    assert metadata.row_group(0).column(0).compression == "UNCOMPRESSED"
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

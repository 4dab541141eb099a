"""What tasks do: new files that nobody else has, and their description."""

from __future__ import annotations

import os
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.pipeline.errors import TargetNotWritable
from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.tables.data_file import DataFile
from headrace.pipeline.tables.file_layout import FileLayout, table_root

RANGE = OffsetRange("orders", 0, 10, 12)


@pytest.fixture
def layout(tmp_path):
    return FileLayout(str(tmp_path), "data", "parked", ".parq")


def written(layout, new):
    collected = []
    rows = pa.table({"offset": [10, 11], "timestamp": pa.array([1, 2_000_001], pa.timestamp("us"))})
    with (
        layout.open(new) as sink,
        pq.ParquetWriter(sink, rows.schema, metadata_collector=collected) as writer,
    ):
        writer.write_table(rows)
    return layout.describe(new, collected[0])


def test_attempts_never_share_a_file(layout):
    paths = {layout.new_file(RANGE, {}).path for _ in range(50)}
    assert len(paths) == 50
    assert all(path.startswith("data/records-orders-0-") for path in paths)


def test_a_file_is_described(layout, tmp_path):
    new = layout.new_file(RANGE, layout.partition_values(0))
    file = written(layout, new)
    assert file.path == new.path
    assert file.rows == 2
    assert file.size_bytes == os.path.getsize(tmp_path / file.path)
    assert file.partition_values == {"date": "1970-01-01", "hour": "0"}
    assert file.ranges == (RANGE,)
    assert (file.timestamp_ms_min, file.timestamp_ms_max) == (0, 2000)


def test_a_description_survives_json(layout):
    file = written(layout, layout.new_file([RANGE, RANGE._replace(partition=1)], {}))
    assert DataFile.from_json(file.to_json()) == file
    bare = DataFile("path", 0, 0, {}, ())
    assert DataFile.from_json(bare.to_json()) == bare


def test_a_layout_goes_to_other_processes(layout):
    assert pickle.loads(pickle.dumps(layout)) == layout


def test_parked_files_have_a_place_of_their_own(layout):
    assert layout.new_parked_file(RANGE).path.startswith("parked/parked-orders-0-")


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    layout = FileLayout(str(tmp_path / "file"), "data", "parked")
    with pytest.raises(TargetNotWritable, match="file"):
        layout.open(layout.new_file(RANGE, {}))


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("/lake/orders/", "/lake/orders"),
        ("file:///lake/orders", "/lake/orders"),
        ("s3://bucket/orders/", "s3://bucket/orders"),
    ],
)
def test_a_table_has_one_root(url, root):
    assert table_root(url) == root


def test_a_relative_root_is_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert table_root("orders") == str(tmp_path / "orders")

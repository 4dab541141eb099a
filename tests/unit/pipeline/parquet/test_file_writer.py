"""Row groups, hours, memory, and what is said of the files."""

from __future__ import annotations

import errno
import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.pipeline.errors import TargetFull
from headrace.pipeline.parquet import file_writer
from headrace.pipeline.parquet.file_writer import PartitionedWriter
from headrace.pipeline.parquet.rows import row_schema
from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.tables import KINDS, open_table, row_groups
from headrace.pipeline.tables.file_options import leaf_paths, writer_options

from .fake_log import START_MS, TOPIC

if TYPE_CHECKING:
    from headrace.pipeline.tables.file_layout import FileLayout

SCHEMA = row_schema(pa.schema([("value", pa.binary())]), has_headers=False)
RANGE = OffsetRange(TOPIC, 0, 0, 10_000)


@pytest.fixture
def layout(tmp_path: Path) -> FileLayout:
    return open_table("plain", str(tmp_path / "lake")).layout


def files_below(layout: FileLayout) -> list[Path]:
    return [path for path in Path(layout.root).rglob("*") if path.is_file()]


def rows(first: int, count: int, timestamp_ms: int = START_MS, size: int = 10) -> pa.RecordBatch:
    numbers = range(first, first + count)
    return pa.RecordBatch.from_pydict(
        {
            "key": [b"%d" % number for number in numbers],
            "topic": [TOPIC] * count,
            "partition": [0] * count,
            "offset": list(numbers),
            "timestamp": [timestamp_ms * 1_000] * count,
            "timestamp_type": [0] * count,
            "value": [b"x" * size] * count,
        },
        schema=SCHEMA,
    )


def test_row_groups_are_full_and_encoded_as_wanted(
    layout: FileLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_groups, "ROW_GROUP_ROWS", 100)
    writer = PartitionedWriter(layout, SCHEMA, [RANGE])
    for first in range(0, 250, 30):
        writer.write(rows(first, min(30, 250 - first)))
    (file,) = writer.close()
    metadata = pq.read_metadata(layout.url_of(file.path))
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    assert [group.num_rows for group in groups] == [100, 100, 50]
    columns = {
        groups[0].column(number).path_in_schema: groups[0].column(number) for number in range(7)
    }
    assert "DELTA_BINARY_PACKED" in columns["offset"].encodings
    assert "DELTA_BINARY_PACKED" in columns["timestamp"].encodings
    assert columns["offset"].statistics.max == 99
    assert columns["value"].statistics is None
    assert {column.compression for column in columns.values()} == {"ZSTD"}
    assert (file.rows, file.ranges, file.timestamp_ms_min) == (250, (RANGE,), START_MS)


@pytest.mark.parametrize(
    ("compression", "found"),
    [("zstd", "ZSTD"), ("snappy", "SNAPPY"), ("lz4", "LZ4"), ("none", "UNCOMPRESSED")],
)
@pytest.mark.parametrize("kind", KINDS)
def test_the_table_says_how_files_are_compressed(
    kind: str, compression: str, found: str, tmp_path: Path
) -> None:
    """Those of a compaction, too."""
    with open_table(kind, str(tmp_path / "lake"), options={"compression": compression}) as table:
        for batch_id in range(2):
            range_ = OffsetRange(TOPIC, 0, batch_id * 10, (batch_id + 1) * 10)
            writer = PartitionedWriter(table.layout, SCHEMA, [range_])
            writer.write(rows(range_.start, 10))
            positions = {TOPIC: {0: range_.end}}
            assert table.commit("job", batch_id, writer.close(), [], SCHEMA, positions)
        assert [compressions_in(file) for file in table.files()] == [{found}, {found}]
        assert table.compact().files_after == 1
        assert [compressions_in(file) for file in table.files()] == [{found}]


def compressions_in(file: str) -> set[str]:
    group = pq.read_metadata(file.removeprefix("file://")).row_group(0)
    return {group.column(number).compression for number in range(group.num_columns)}


def test_what_waits_is_bounded(layout: FileLayout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_writer, "PENDING_BYTES_MAX", 50_000)
    writer = PartitionedWriter(layout, SCHEMA, [RANGE])
    hours = itertools.cycle(range(5))
    for first in range(0, 2_000, 20):
        writer.write(rows(first, 20, START_MS + next(hours) * 3_600_000, size=200))
        assert writer.pending_bytes <= 50_000
    files = writer.close()
    assert sum(file.rows for file in files) == 2_000
    assert sorted(file.partition_values["hour"] for file in files) == ["10", "11", "12", "13", "14"]


def test_too_many_hours_at_once_get_more_files_and_not_more_open_ones(
    layout: FileLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writer, "OPEN_FILES_MAX", 2)
    monkeypatch.setattr(file_writer, "PENDING_BYTES_MAX", 0)
    writer = PartitionedWriter(layout, SCHEMA, [RANGE])
    for first, hour in enumerate([0, 1, 2, 0, 1, 1]):
        writer.write(rows(first, 1, START_MS + hour * 3_600_000))
        assert len(writer._open) <= 2
    files = writer.close()
    assert sorted((file.partition_values["hour"], file.rows) for file in files) == [
        ("10", 1),
        ("10", 1),
        ("11", 1),
        ("11", 2),
        ("12", 1),
    ]
    assert len({file.path for file in files}) == 5


def test_a_file_is_opened_when_there_is_something_to_write(layout: FileLayout) -> None:
    writer = PartitionedWriter(layout, SCHEMA, [RANGE])
    for hour in range(300):
        writer.write(rows(hour, 1, START_MS + hour * 3_600_000))
    assert not writer._open
    assert [file.rows for file in writer.close()] == [1] * 300


def test_what_is_abandoned_is_gone_at_once(
    layout: FileLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writer, "OPEN_FILES_MAX", 1)
    monkeypatch.setattr(file_writer, "PENDING_BYTES_MAX", 0)
    writer = PartitionedWriter(layout, SCHEMA, [RANGE])
    for hour in range(3):
        writer.write(rows(hour, 1, START_MS + hour * 3_600_000))
    assert len(files_below(layout)) == 3
    writer.abandon()
    assert files_below(layout) == []


def test_a_disk_that_fills_up_keeps_nothing_of_the_attempt(
    layout: FileLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writer, "PENDING_BYTES_MAX", 0)
    writer = PartitionedWriter(layout, SCHEMA, [RANGE])
    writer.write(rows(0, 1))

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", refuse)
    with pytest.raises(TargetFull):
        writer.write(rows(1, 1))
    writer.abandon()
    assert files_below(layout) == []


def test_each_row_group_begins_to_be_stored_before_the_file_is_complete(
    layout: FileLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_groups, "ROW_GROUP_ROWS", 100)
    sizes: list[int] = []
    monkeypatch.setattr(file_writer, "begin_write_back", lambda stream: sizes.append(stream.tell()))
    writer = PartitionedWriter(layout, SCHEMA, [RANGE])
    for first in (0, 100):
        writer.write(rows(first, 100))
    assert len(sizes) == 2
    assert 0 < sizes[0] < sizes[1]
    (file,) = writer.close()
    assert sizes[1] < file.size_bytes


def test_a_disk_that_turns_out_full_when_it_stores_keeps_nothing_of_the_attempt(
    layout: FileLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(stream: pa.NativeFile) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(file_writer, "begin_write_back", refuse)
    writer = PartitionedWriter(layout, SCHEMA, [RANGE])
    writer.write(rows(0, 10))
    with pytest.raises(TargetFull):
        writer.close()
    writer.abandon()
    assert files_below(layout) == []


def test_nothing_written_makes_no_file(layout: FileLayout) -> None:
    assert PartitionedWriter(layout, SCHEMA, [RANGE]).close() == []


def test_the_bloom_filter_is_as_large_as_the_task_needs() -> None:
    for expected, counted in ((0, 1), (1_000, 1_000), (10**9, 131_072)):
        assert writer_options(SCHEMA, expected)["bloom_filter_options"]["key"]["ndv"] == counted


def test_leaves_of_nested_columns() -> None:
    kind = pa.struct([("a", pa.list_(pa.int64())), ("m", pa.map_(pa.string(), pa.int32()))])
    assert list(leaf_paths("c", kind)) == [
        "c.a.list.element",
        "c.m.key_value.key",
        "c.m.key_value.value",
    ]

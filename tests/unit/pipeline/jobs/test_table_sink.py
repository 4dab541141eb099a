"""A table as the end of a query: files by tasks, one commit per batch. Without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

from headrace.pipeline.errors import ForeignCheckpoint  # noqa: E402
from headrace.pipeline.jobs import table_sink  # noqa: E402
from headrace.pipeline.jobs.table_sink import (  # noqa: E402
    TableSink,
    Written,
    write_file,
)
from headrace.pipeline.ranges import OffsetRange  # noqa: E402
from headrace.pipeline.tables import open_table, row_groups  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path

ORIGIN = "job-c1"
SCHEMA = pa.schema([pa.field("n", pa.int64())])


def batch(*numbers: int) -> Any:
    return pa.RecordBatch.from_pydict({"n": list(numbers)}, schema=SCHEMA)


class Frame:
    """What Spark would hand to ``foreachBatch``: one list of Arrow batches per task."""

    def __init__(self, layout: Any, batch_id: int, *tasks: list[Any]) -> None:
        self._layout = layout
        self._batch_id = batch_id
        self._tasks = tasks
        self.runs = 0

    def mapInArrow(self, task: Any, schema: str) -> Frame:
        return self

    def collect(self) -> list[dict[str, str]]:
        self.runs += 1
        files = [
            write_file(
                self._layout,
                OffsetRange(ORIGIN, number, self._batch_id, self._batch_id + 1),
                SCHEMA,
                batches,
            )
            for number, batches in enumerate(self._tasks)
        ]
        return [{"file": file.to_json()} for file in files if file is not None]


@pytest.fixture
def sink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TableSink:
    monkeypatch.setattr(table_sink, "arrow_schema", lambda frame: SCHEMA)
    return sink_of(tmp_path)


def sink_of(url: Path, checkpoint: str = "c1") -> TableSink:
    return TableSink("job", "plain", str(url), {}, checkpoint_id=lambda: checkpoint)


def numbers_in(url: Path) -> list[int]:
    with open_table("plain", str(url), partition_by="none") as table:
        return sorted(
            n for file in table.files() for n in parquet.read_table(file)["n"].to_pylist()
        )


def layout_of(url: Path) -> Any:
    with open_table("plain", str(url), partition_by="none") as table:
        return table.layout


def test_task_without_rows_writes_no_file(tmp_path: Path) -> None:
    range_ = OffsetRange("job", 0, 0, 1)
    assert write_file(layout_of(tmp_path), range_, SCHEMA, [batch()]) is None
    assert write_file(layout_of(tmp_path), range_, SCHEMA, []) is None


def test_batch_is_committed_once(tmp_path: Path, sink: TableSink) -> None:
    layout = layout_of(tmp_path)
    sink.write(Frame(layout, 0, [batch(1, 2), batch(3)], [], [batch(4)]), 0)
    again = Frame(layout, 0, [batch(1, 2)], [batch(3, 4)])
    sink.write(again, 0)
    assert again.runs == 0
    taken = sink.take_written()
    assert taken.files == 2
    assert taken.size_bytes > 0
    assert sink.take_written() == Written()
    sink.write(Frame(layout, 1, [batch(5)]), 1)
    sink.close()
    assert numbers_in(tmp_path) == [1, 2, 3, 4, 5]


def test_batch_without_rows_is_a_commit_too(tmp_path: Path, sink: TableSink) -> None:
    layout = layout_of(tmp_path)
    sink.write(Frame(layout, 0, [batch(1)]), 0)
    sink.write(Frame(layout, 1, [batch()]), 1)
    sink.write(Frame(layout, 2, [batch(2)]), 2)
    sink.close()
    sink.close()
    assert numbers_in(tmp_path) == [1, 2]


def test_batches_of_another_checkpoint_are_refused(tmp_path: Path, sink: TableSink) -> None:
    """A checkpoint was deleted: batch 0 is again batch 0, but of other records."""
    layout = layout_of(tmp_path)
    sink.write(Frame(layout, 0, [batch()]), 0)
    sink.write(Frame(layout, 1, [batch(1)]), 1)
    sink.close()
    later = sink_of(tmp_path, "c2")
    frame = Frame(layout, 0, [batch(2)])
    with pytest.raises(ForeignCheckpoint, match="batch 0 of job job from another checkpoint"):
        later.write(frame, 0)
    later.close()
    assert frame.runs == 0
    assert numbers_in(tmp_path) == [1]


def test_small_files_are_joined_from_time_to_time(
    tmp_path: Path, sink: TableSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_sink, "COMPACT_BATCHES", 3)
    layout = layout_of(tmp_path)
    for number in range(4):
        sink.write(Frame(layout, number, [batch(number)]), number)
    sink.close()
    with open_table("plain", str(tmp_path), partition_by="none") as table:
        assert len(table.files()) == 2
    assert numbers_in(tmp_path) == [0, 1, 2, 3]


def test_rows_are_written_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of Spark's own are too small to be groups of a file."""
    monkeypatch.setattr(row_groups, "ROW_GROUP_ROWS", 3)
    layout = layout_of(tmp_path)
    batches = [batch(1, 2), batch(3), batch(4), batch(5)]
    written = write_file(layout, OffsetRange(ORIGIN, 0, 0, 1), SCHEMA, batches)
    assert written is not None
    metadata = parquet.read_metadata(layout.url_of(written.path))
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    assert [group.num_rows for group in groups] == [3, 2]
    assert {group.column(0).compression for group in groups} == {"ZSTD"}

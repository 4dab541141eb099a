"""One task: what it writes, what it hands back, what it does when it cannot."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest

from headrace.model.errors import HeadraceError
from headrace.pipeline.decoding.spec import make_decoder, spec_from_options
from headrace.pipeline.errors import DataLoss, TargetNotWritable
from headrace.pipeline.parquet import file_writer, write_task
from headrace.pipeline.parquet.errors import TaskFailed
from headrace.pipeline.parquet.rows import row_schema
from headrace.pipeline.parquet.tasks import TaskResult, TaskWork
from headrace.pipeline.parquet.write_task import run_task, write_ranges
from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.read_settings import ReadSettings
from headrace.pipeline.tables import open_table
from headrace.pipeline.tables.data_file import DataFile

from .fake_log import START_MS, TOPIC, FakeLog, Record, offsets_in, values

if TYPE_CHECKING:
    from pathlib import Path

HOUR_MS = 3_600_000


def work_of(
    directory: Path, *ranges: OffsetRange, form: str = "raw", is_sample: bool = False
) -> TaskWork:
    spec = spec_from_options({"format": form})
    schema = row_schema(make_decoder(spec).schema(), has_headers=True)
    layout = open_table("plain", str(directory / "lake")).layout
    read = ReadSettings(kafka={"bootstrap.servers": "nobody:1"})
    return TaskWork(ranges, read, spec, layout, schema, is_sample)


def paths(work: TaskWork, result: TaskResult) -> list[str]:
    return [work.layout.url_of(DataFile.from_json(text).path) for text in result.files]


def test_several_ranges_share_a_file(tmp_path: Path) -> None:
    log = FakeLog(values("a", "b", "c"), values("d", "e"))
    work = work_of(tmp_path, OffsetRange(TOPIC, 0, 1, 3), OffsetRange(TOPIC, 1, 0, 2))
    assert pickle.loads(pickle.dumps(work)) == work
    result = write_ranges(work, log.read)
    assert pickle.loads(pickle.dumps(result)) == result
    (file,) = [DataFile.from_json(text) for text in result.files]
    assert file.ranges == work.ranges
    assert file.rows == 4
    assert offsets_in(paths(work, result)) == [(0, 1), (0, 2), (1, 0), (1, 1)]


def test_more_hours_than_open_files_get_more_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writer, "OPEN_FILES_MAX", 2)
    log = FakeLog([Record(b"v", START_MS + number * HOUR_MS) for number in range(7)])
    work = work_of(tmp_path, OffsetRange(TOPIC, 0, 0, 7))
    result = write_ranges(work, log.read)
    assert len(result.files) == 7
    assert offsets_in(paths(work, result)) == [(0, offset) for offset in range(7)]


def test_new_fields_stop_the_writing_but_not_the_looking(tmp_path: Path) -> None:
    texts = ['{"a": 1}'] * 4 + ['{"b": "x"}'] * 4 + ['{"a": 2.5}']
    log = FakeLog(values(*texts))
    for is_sample in (False, True):
        work = work_of(tmp_path, OffsetRange(TOPIC, 0, 0, 9), form="json", is_sample=is_sample)
        result = write_ranges(work, log.read)
        assert result.files == ()
        assert result.new_fields is not None
        assert {one.name: str(one.type) for one in result.new_fields} == {
            "a": "double",
            "b": "string",
        }


def test_a_sample_without_fields_is_no_failure(tmp_path: Path) -> None:
    work = work_of(tmp_path, OffsetRange(TOPIC, 0, 0, 1), form="json", is_sample=True)
    result = write_ranges(work, FakeLog(values("{}")).read)
    assert result.new_fields is not None
    assert len(result.new_fields) == 0


def test_named_errors_come_back_as_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loss = DataLoss(TOPIC, 0, 1, 5, "gone")

    def lose(work: TaskWork) -> TaskResult:
        raise loss

    monkeypatch.setattr(write_task, "write_ranges", lose)
    failure = run_task(work_of(tmp_path, OffsetRange(TOPIC, 0, 0, 1))).failure
    assert isinstance(failure, DataLoss)
    assert failure.next_offset == 5


def test_errors_that_cannot_travel_send_their_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Local(HeadraceError):
        """Unpicklable: it is in no module."""

        retriable = True

    def fail(work: TaskWork) -> TaskResult:
        raise Local("why")

    monkeypatch.setattr(write_task, "write_ranges", fail)
    failure = run_task(work_of(tmp_path, OffsetRange(TOPIC, 0, 0, 1))).failure
    assert isinstance(failure, TaskFailed)
    assert failure.retriable
    assert failure.message == "Local: why"


def test_a_target_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    work = work_of(tmp_path, OffsetRange(TOPIC, 0, 0, 1))
    (tmp_path / "lake").write_text("not a directory")
    with pytest.raises(TargetNotWritable):
        write_ranges(work, FakeLog(values("a")).read)

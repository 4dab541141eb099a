"""Batch after batch over a fake topic, into a real plain table; DuckDB counts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.model.topic import TopicPartition
from headrace.pipeline.decoding.registry_client import RegistryClient
from headrace.pipeline.errors import BrokerUnreachable, DataLoss, ForeignCheckpoint, TargetInUse
from headrace.pipeline.parquet import file_writer
from headrace.pipeline.parquet.tasks import TaskResult
from headrace.pipeline.tables import KINDS, open_table
from headrace.records.columns import BadBatch

from .fake_log import (
    START_MS,
    TOPIC,
    FakeLog,
    Record,
    Tasks,
    all_offsets,
    job_of,
    offsets_in,
    query,
    settings_of,
    values,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.pipeline.parquet.tasks import TaskWork
    from headrace.pipeline.tables.table import Table

JSON = {"format": "json"}


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with open_table("plain", str(tmp_path / "lake")) as opened:
        yield opened


def test_all_records_in_one_batch_and_then_nothing(table: Table) -> None:
    log = FakeLog(values("a", "b", None), values("c"))
    job, _ = job_of(settings_of(table.url), table, log.view(), Tasks(log))
    progress = job.run_batch()
    assert progress is not None
    assert (progress.batch_id, progress.rows, progress.parked_rows, progress.files) == (0, 4, 0, 1)
    assert progress.positions == progress.ends == {TOPIC: {0: 3, 1: 1}}
    assert progress.lag_records == 0
    assert job.run_batch() is None
    assert offsets_in(table.files()) == all_offsets(log)
    assert query(table.files(), "distinct topic, date::text, hour") == [(TOPIC, "2026-11-16", 10)]


def test_a_new_driver_goes_on_where_the_table_is(table: Table) -> None:
    log = FakeLog(values("a", "b"))
    settings = settings_of(table.url)
    job_of(settings, table, log.view(), Tasks(log))[0].run_batch()
    log.partitions[0] += values("c")
    log.partitions.append(values("d"))
    progress = job_of(settings, table, log.view(), Tasks(log))[0].run_batch()
    assert progress is not None
    assert (progress.batch_id, progress.rows) == (1, 2)
    assert offsets_in(table.files()) == all_offsets(log)


def test_limits_make_several_batches(table: Table) -> None:
    log = FakeLog(values(*"abcdefgh"), values(*"ab"))
    settings = settings_of(table.url, source={"maxOffsetsPerTrigger": "4"})
    job, _ = job_of(settings, table, log.view(), Tasks(log))
    lags = []
    while (progress := job.run_batch()) is not None:
        lags.append(progress.lag_records)
    assert lags == [6, 2, 0]
    assert offsets_in(table.files()) == all_offsets(log)


def test_fields_become_columns_when_they_come(table: Table) -> None:
    log = FakeLog(values('{"id": 1}', '{"id": 2, "timestamp": "x"}'))
    tasks = Tasks(log)
    job, _ = job_of(settings_of(table.url, decoding=JSON), table, log.view(), tasks)
    job.run_batch()
    assert [one.is_sample for call in tasks.calls for one in call] == [True, False]
    log.partitions[0] += values('{"id": 3, "more": 1.5}')
    later = Tasks(log)
    job_of(settings_of(table.url, decoding=JSON), table, log.view(), later)[0].run_batch()
    assert len(later.calls) == 2, "once to find the field, once to write it"
    assert query(table.files(), 'id, value_timestamp, more, "offset"', "order by 4") == [
        (1, None, None, 0),
        (2, "x", None, 1),
        (3, None, 1.5, 2),
    ]


def test_tasks_that_disagree_about_a_new_field(table: Table) -> None:
    log = FakeLog(
        values('{"x": 1}'), values('{"x": 2.5}'), values('{"y": 1}'), values('{"y": "t"}')
    )
    settings = settings_of(table.url, decoding=JSON, source={"minPartitions": "4"})
    job_of(settings, table, log.view(), Tasks(log))[0].run_batch()
    assert query(table.files(), 'x, y, "partition"', "order by 3") == [
        (1.0, None, 0),
        (2.5, None, 1),
        (None, "1", 2),
        (None, "t", 3),
    ]


def test_bad_records_and_batches_are_parked(table: Table) -> None:
    log = FakeLog(values('{"id": 1}'))
    settings = settings_of(table.url, decoding=JSON)
    job_of(settings, table, log.view(), Tasks(log))[0].run_batch()
    log.partitions[0] += values("{bad", '{"id": "text"}', '{"id": 4}', "?", "?")
    log.bad = [(0, BadBatch(4, 9, "framing: cut off", b"\x01\x02"))]
    second = job_of(settings, table, log.view(), Tasks(log))[0].run_batch()
    assert second is not None
    assert (second.rows, second.parked_rows) == (1, 3)
    assert offsets_in(table.files()) == [(0, 0), (0, 3)]
    found = query(table.parked_files(), '"offset", last_offset, value, reason', "order by 1")
    assert [row[:3] for row in found] == [
        (1, 1, b"{bad"),
        (2, 2, b'{"id": "text"}'),
        (4, 5, b"\x01\x02"),
    ]
    assert found[2][3] == "framing: cut off"


def test_a_failed_batch_is_planned_again_from_the_table(table: Table) -> None:
    log = FakeLog(values("a", "b"))
    tasks = Tasks(log)
    tasks.faults.append(BrokerUnreachable("gone"))
    job, _ = job_of(settings_of(table.url), table, log.view(), tasks)
    with pytest.raises(BrokerUnreachable):
        job.run_batch()
    job.forget()
    job.run_batch()
    assert offsets_in(table.files()) == all_offsets(log)


def test_a_commit_whose_answer_was_lost_counts_once(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = FakeLog(values("a", "b"))
    job, _ = job_of(settings_of(table.url), table, log.view(), Tasks(log))
    commit = type(table).commit

    def commit_and_fail(self: Table, *arguments: object) -> bool:
        commit(self, *arguments)  # type: ignore[arg-type]
        raise BrokerUnreachable("the answer is lost")

    with monkeypatch.context() as patch:
        patch.setattr(type(table), "commit", commit_and_fail)
        with pytest.raises(BrokerUnreachable):
            job.run_batch()
    job.forget()
    assert job.run_batch() is None
    assert offsets_in(table.files()) == all_offsets(log)


def test_a_start_at_the_end_is_written_down(table: Table) -> None:
    log = FakeLog(values("old"))
    settings = settings_of(table.url, source={"startingOffsets": "latest"})
    assert job_of(settings, table, log.view(), Tasks(log))[0].run_batch() is None
    log.partitions[0] += values("new")
    job_of(settings, table, log.view(), Tasks(log))[0].run_batch()
    assert offsets_in(table.files()) == [(0, 1)]


def test_another_cluster_is_noticed(table: Table) -> None:
    log = FakeLog(values("a"))
    settings = settings_of(table.url)
    job_of(settings, table, log.view(), Tasks(log))[0].run_batch()
    other = log.view()
    other.cluster = "cluster-2"
    with pytest.raises(ForeignCheckpoint, match="cluster-2"):
        job_of(settings, table, other, Tasks(log))[0].run_batch()


def test_a_topic_made_anew_is_a_loss_again_and_again(table: Table) -> None:
    log = FakeLog(values("a", "b"))
    settings = settings_of(table.url)
    job_of(settings, table, log.view(), Tasks(log))[0].run_batch()
    anew = log.view()
    anew.ids[TOPIC] = bytes(15) + b"\2"
    for _ in range(2):
        with pytest.raises(DataLoss, match="made anew"):
            job_of(settings, table, anew, Tasks(log))[0].run_batch()


def test_offsets_that_aged_out_are_a_loss(table: Table) -> None:
    log = FakeLog(values("a", "b"))
    settings = settings_of(table.url)
    job_of(settings, table, log.view(), Tasks(log))[0].run_batch()
    aged = log.view()
    aged.logs[TopicPartition(TOPIC, 0)] = (5, 7)
    with pytest.raises(DataLoss, match="offsets 2 to 4"):
        job_of(settings, table, aged, Tasks(log))[0].run_batch()


def test_late_records_go_to_their_own_hour(table: Table) -> None:
    hours = [0, 1, 0, -24, 1]
    log = FakeLog([Record(b"v", START_MS + hour * 3_600_000) for hour in hours])
    progress = job_of(settings_of(table.url), table, log.view(), Tasks(log))[0].run_batch()
    assert progress is not None
    assert progress.files == 3
    what = 'date::text, hour, list("offset" order by "offset")'
    found = query(table.files(), what, "group by all order by 1, 2")
    assert found == [
        ("2026-11-15", 10, [3]),
        ("2026-11-16", 10, [0, 2]),
        ("2026-11-16", 11, [1, 4]),
    ]


def test_an_hour_with_several_files_is_whole_for_readers_of_the_directory(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writer, "OPEN_FILES_MAX", 1)
    monkeypatch.setattr(file_writer, "PENDING_BYTES_MAX", 0)
    log = FakeLog([Record(b"v", START_MS + number % 2 * 3_600_000) for number in range(12)])
    job_of(settings_of(table.url), table, log.view(), Tasks(log))[0].run_batch()
    assert len(table.files()) > 2
    shown = [str(path) for path in Path(table.url).rglob("*.parquet")]
    assert len(shown) == len(table.files())
    assert offsets_in(shown) == all_offsets(log)


def test_values_that_are_all_empty_objects(table: Table) -> None:
    log = FakeLog(values("{}", "null", None, json.dumps({"x": None})))
    job_of(settings_of(table.url, decoding=JSON), table, log.view(), Tasks(log))[0].run_batch()
    assert offsets_in(table.files()) == all_offsets(log)


def test_a_job_that_takes_a_table_over_goes_on_where_the_other_was(tmp_path: Path) -> None:
    log = FakeLog(values("a", "b"), values("c"))
    target = str(tmp_path / "lake")
    with open_table("plain", target) as table:
        job_of(settings_of(target), table, log.view(), Tasks(log))[0].run_batch()
    log.partitions[0] += values("d")
    heir = replace(settings_of(target), job="heir")
    with open_table("plain", target) as table:
        tasks = Tasks(log)
        with pytest.raises(TargetInUse, match="lake"):
            job_of(heir, table, log.view(), tasks)[0].run_batch()
        assert not tasks.calls, "it is refused before any work is done"
    with open_table("plain", target, take_over=True) as table:
        progress = job_of(heir, table, log.view(), Tasks(log))[0].run_batch()
        assert progress is not None
        assert progress.rows == 1
        assert offsets_in(table.files()) == all_offsets(log)


def test_files_of_an_attempt_that_was_in_vain_are_removed(table: Table) -> None:
    """One task finds a new field, or fails; the other one has written its file."""
    log = FakeLog(values('{"id": 1}'), values('{"id": 2}'))
    settings = settings_of(table.url, decoding=JSON, source={"minPartitions": "2"})
    job, _ = job_of(settings, table, log.view(), Tasks(log))
    job.run_batch()
    log.partitions[0] += values('{"id": 3}')
    log.partitions[1] += values('{"id": 4, "more": 5}')
    job, _ = job_of(settings, table, log.view(), OneFails(log))
    with pytest.raises(BrokerUnreachable):
        job.run_batch()
    job, _ = job_of(settings, table, log.view(), Tasks(log))
    job.run_batch()
    assert sorted(files_below(table)) == sorted(table.files())
    assert offsets_in(table.files()) == all_offsets(log)


class OneFails(Tasks):
    def __call__(self, work: Sequence[TaskWork]) -> list[TaskResult]:
        return [TaskResult(failure=BrokerUnreachable("gone")), *super().__call__(work[1:])]


def files_below(table: Table) -> list[str]:
    return [str(path) for path in Path(table.url).rglob("*.parq")]


WILD_MS = 3 * 10**14


@pytest.mark.parametrize("kind", KINDS)
def test_times_that_no_calendar_has(tmp_path: Path, kind: str) -> None:
    """Iceberg cannot take them, so they are parked there; a bad record may have one too."""
    record = Record(b'{"id": 1}')
    wild = [record._replace(timestamp_ms=sign * WILD_MS) for sign in (1, -1)]
    bad = Record(b"{bad", WILD_MS)
    log = FakeLog([record, *wild, bad, record])
    with open_table(kind, str(tmp_path / "lake")) as table:
        settings = settings_of(table.url, decoding=JSON)
        job_of(settings, table, log.view(), Tasks(log))[0].run_batch()
        is_iceberg = kind == "iceberg"
        expected = [0, 4] if is_iceberg else [0, 1, 2, 4]
        assert offsets_in(table.files()) == [(0, offset) for offset in expected]
        found = query(table.parked_files(), '"offset", reason', "order by 1")
        assert [offset for offset, _ in found] == ([1, 2, 3] if is_iceberg else [3])
        if is_iceberg:
            assert found[0][1] == (
                f"timestamp is {WILD_MS * 1_000} microseconds since 1970, "
                "which is not in the years 1 to 9999"
            )
        else:
            wild_files = [path for path in table.files() if "HIVE_DEFAULT" in path]
            assert len(wild_files) == 1


def test_values_that_are_all_null_are_rows_in_a_table_of_the_registry(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RegistryClient, "latest", lambda self, subject: None)
    log = FakeLog(values(None, None))
    decoding = {"format": "registry", "registry_url": "http://nobody:1"}
    settings = settings_of(table.url, decoding=decoding)
    job_of(settings, table, log.view(), Tasks(log))[0].run_batch()
    assert offsets_in(table.files()) == all_offsets(log)

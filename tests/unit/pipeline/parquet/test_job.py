"""Batch after batch over a fake topic, into a real plain table; DuckDB counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from headrace.model.topic import TopicPartition
from headrace.pipeline.errors import BrokerUnreachable, DataLoss, ForeignCheckpoint
from headrace.pipeline.tables import open_table
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
    from collections.abc import Iterator
    from pathlib import Path

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


def test_another_cluster_is_noticed(table: Table, tmp_path: Path) -> None:
    log = FakeLog(values("a"))
    settings = settings_of(table.url, checkpoint=str(tmp_path / "checkpoint"))
    job_of(settings, table, log.view(), Tasks(log))[0].run_batch()
    other = log.view()
    other.cluster = "cluster-2"
    with pytest.raises(ForeignCheckpoint, match="cluster-2"):
        job_of(settings, table, other, Tasks(log))[0].run_batch()


def test_a_topic_made_anew_is_a_loss_again_and_again(table: Table, tmp_path: Path) -> None:
    log = FakeLog(values("a", "b"))
    settings = settings_of(table.url, checkpoint=str(tmp_path / "checkpoint"))
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


def test_values_that_are_all_empty_objects(table: Table) -> None:
    log = FakeLog(values("{}", "null", None, json.dumps({"x": None})))
    job_of(settings_of(table.url, decoding=JSON), table, log.view(), Tasks(log))[0].run_batch()
    assert offsets_in(table.files()) == all_offsets(log)

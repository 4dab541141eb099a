"""When a run goes on, waits, gives up and ends."""

from __future__ import annotations

import pytest

from headrace.pipeline.errors import BrokerUnreachable, TargetFull, TargetNotWritable
from headrace.pipeline.parquet.errors import TaskFailed
from headrace.pipeline.parquet.progress import ParquetProgress, ParquetReport
from headrace.pipeline.parquet.runner import FAILURES_MAX, TASK_FAILURES_MAX, Runner
from headrace.pipeline.tables.errors import CompactionNotPossible
from headrace.pipeline.tables.table import CompactionReport

from .fake_log import settings_of

DONE = None


def progress(lag: int = 0, rows: int = 10, batch_id: int = 0) -> ParquetProgress:
    return ParquetProgress(batch_id, rows, 1, 2, 100, {"t": {0: 5}}, {"t": {0: 5 + lag}}, 0.5)


class ScriptedJob:
    """Each call of ``run_batch`` does what comes next in the script."""

    def __init__(self, *script: ParquetProgress | Exception | None) -> None:
        self.script = list(script)
        self.forgotten = 0

    def run_batch(self) -> ParquetProgress | None:
        step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    def forget(self) -> None:
        self.forgotten += 1


class ScriptedTable:
    """Only to be compacted."""

    def __init__(self, fault: Exception | None = None, incomplete: int = 0) -> None:
        self.compactions = 0
        self._fault = fault
        self._incomplete = incomplete

    def compact(self, target_bytes: int) -> CompactionReport:
        self.compactions += 1
        if self._fault is not None:
            raise self._fault
        return CompactionReport(2, 1, is_complete=self.compactions > self._incomplete)


def runner(
    job: ScriptedJob, table: ScriptedTable | None = None, **settings: object
) -> tuple[Runner, list[float]]:
    pauses: list[float] = []
    made = Runner(
        settings_of("unused", trigger_seconds=3.0, **settings),
        job,  # type: ignore[arg-type]
        table or ScriptedTable(),  # type: ignore[arg-type]
        should_stop=lambda: not job.script,
        sleep=pauses.append,
    )
    return made, pauses


def test_until_empty_adds_up_and_ends() -> None:
    made, pauses = runner(ScriptedJob(progress(), progress(rows=5), DONE))
    report = made.until_empty()
    assert report._replace(seconds=0.0) == ParquetReport(2, 15, 2, 4, 200)
    assert pauses == []


def test_a_fault_that_may_pass_is_waited_for() -> None:
    job = ScriptedJob(BrokerUnreachable("a"), BrokerUnreachable("b"), progress(), DONE)
    made, pauses = runner(job)
    assert made.until_empty().batches == 1
    assert job.forgotten == 2
    assert sum(pauses) == pytest.approx(1 + 2)


def test_a_fault_that_stays_ends_the_run() -> None:
    for script in (
        [TargetNotWritable("no")],
        [TargetFull("full")] * FAILURES_MAX,
        [TaskFailed("Spark gave up")] * TASK_FAILURES_MAX,
    ):
        made, _ = runner(ScriptedJob(*script, DONE))
        with pytest.raises(type(script[0])):
            made.until_empty()


def test_a_run_that_is_behind_does_not_wait_for_the_trigger() -> None:
    made, pauses = runner(ScriptedJob(progress(lag=5), progress(lag=1), progress()))
    assert made.until_stopped().batches == 3
    assert pauses == []


def test_a_run_that_is_not_behind_waits() -> None:
    job = ScriptedJob(progress(), DONE, progress())
    made, pauses = runner(job)
    made.until_stopped()
    assert sum(pauses) == pytest.approx(6.0, abs=0.5)
    assert max(pauses) <= 1.0, "it is asked at least once a second whether to stop"


@pytest.mark.parametrize(
    ("batch_ids", "compactions"), [(range(7), 2), (range(5, 6), 1), (range(6, 8), 0)]
)
def test_compaction_comes_every_so_many_batches(batch_ids: range, compactions: int) -> None:
    """Counted over all runs: there may be one for each batch."""
    table = ScriptedTable()
    job = ScriptedJob(*(progress(batch_id=one) for one in batch_ids), DONE)
    runner(job, table, compact_batches=3)[0].until_empty()
    assert table.compactions == compactions


def test_a_large_compaction_is_done_in_parts() -> None:
    table = ScriptedTable(incomplete=2)
    job = ScriptedJob(*(progress(batch_id=one) for one in range(2, 9)), DONE)
    runner(job, table, compact_batches=100)[0].until_empty()
    assert table.compactions == 0
    job = ScriptedJob(*(progress(batch_id=one) for one in range(99, 107)), DONE)
    runner(job, table, compact_batches=100)[0].until_empty()
    assert table.compactions == 3


@pytest.mark.parametrize(
    ("fault", "attempts"), [(CompactionNotPossible("no"), 1), (TargetFull("full"), 2)]
)
def test_a_failed_compaction_stops_nothing(fault: Exception, attempts: int) -> None:
    table = ScriptedTable(fault)
    job = ScriptedJob(*[progress()] * 2, DONE)
    assert runner(job, table, compact_batches=1)[0].until_empty().batches == 2
    assert table.compactions == attempts


def test_compaction_can_be_left_out() -> None:
    table = ScriptedTable()
    runner(ScriptedJob(progress(), DONE), table, compact_batches=1, compact=False)[0].until_empty()
    assert table.compactions == 0

"""Batch after batch: when to go on, when to wait, when to give up, when to end."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from headrace.model.errors import HeadraceError
from headrace.pipeline.parquet.errors import TaskFailed
from headrace.pipeline.parquet.progress import ParquetReport
from headrace.pipeline.tables.errors import CompactionNotPossible

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.pipeline.parquet.job import ParquetJob
    from headrace.pipeline.parquet.progress import ParquetProgress
    from headrace.pipeline.parquet.settings import ParquetSettings
    from headrace.pipeline.tables.table import Table

    OnProgress = Callable[[ParquetProgress], None]

log = logging.getLogger(__name__)

FAILURES_MAX = 20
"""Batches in a row that may fail before the job does."""
TASK_FAILURES_MAX = 3
"""The same where Spark itself has tried the tasks four times each."""
PAUSE_SECONDS_MAX = 30.0
WATCH_SECONDS = 0.5
"""So often it is asked whether to stop."""


class Runner:
    """Batch after batch; a fault that may pass is waited for, every other one ends the run."""

    def __init__(
        self,
        settings: ParquetSettings,
        job: ParquetJob,
        table: Table,
        on_progress: OnProgress | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._settings = settings
        self._job = job
        self._table = table
        self._on_progress = on_progress
        self._should_stop = should_stop
        self._sleep = sleep
        self._report = ParquetReport()
        self._failures = 0
        self._is_compacting = settings.compact
        self._is_compaction_due = False
        self._began = time.monotonic()

    def until_empty(self) -> ParquetReport:
        is_done = False
        while not is_done:
            progress = self._attempt()
            is_done = progress is None and not self._failures
        return self._finished()

    def until_stopped(self) -> ParquetReport:
        while not self._should_stop():
            began = time.monotonic()
            progress = self._attempt()
            is_behind = progress is not None and progress.lag_records > 0
            if not is_behind and not self._failures:
                self._pause(began + self._settings.trigger_seconds - time.monotonic())
        return self._finished()

    def _attempt(self) -> ParquetProgress | None:
        """One batch. None: there was nothing to do, or it failed and may be tried again."""
        try:
            progress = self._job.run_batch()
        except HeadraceError as error:
            self._job.forget()
            self._failures += 1
            most = TASK_FAILURES_MAX if isinstance(error, TaskFailed) else FAILURES_MAX
            if not error.retriable or self._failures >= most:
                raise
            log.warning("a batch failed (%d in a row): %s", self._failures, error.message)
            self._pause(min(PAUSE_SECONDS_MAX, 2.0 ** (self._failures - 1)))
            return None
        self._failures = 0
        if progress is not None:
            self._report = self._report.plus(progress)
            if self._on_progress is not None:
                self._on_progress(progress)
            self._maybe_compact(progress.batch_id)
        return progress

    def _pause(self, seconds: float) -> None:
        while seconds > 0 and not self._should_stop():
            step = min(seconds, WATCH_SECONDS)
            self._sleep(step)
            seconds -= step

    def _maybe_compact(self, batch_id: int) -> None:
        """A large one is done in parts, one after each batch: readers wait for batches."""
        self._is_compaction_due |= (batch_id + 1) % self._settings.compact_batches == 0
        if not self._is_compacting or not self._is_compaction_due:
            return
        self._is_compaction_due = False
        try:
            report = self._table.compact(self._settings.compact_bytes_target)
        except CompactionNotPossible as error:
            self._is_compacting = False
            log.warning("no compaction from now on: %s", error.message)
            return
        except HeadraceError as error:
            if not error.retriable:
                raise
            log.warning("no compaction this time: %s", error.message)
            return
        self._is_compaction_due = not report.is_complete
        if report.files_before:
            log.info("%d files became %d", report.files_before, report.files_after)

    def _finished(self) -> ParquetReport:
        return self._report._replace(seconds=time.monotonic() - self._began)

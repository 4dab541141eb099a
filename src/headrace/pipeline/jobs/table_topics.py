"""The jobs of table topics: one process, one Spark session, one thread per topic.

The broker starts this process (``headrace pipeline supervise``) and writes a JSON line to its
standard input whenever the topics that want a table change; the end of that input is the end of the
process. A job that fails waits and tries again, whatever the fault: nobody sits beside it, and the
table's own commits see to it that nothing is written twice.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.pipeline.jobs.backoff import Backoff
from headrace.pipeline.jobs.definition import JobDefinition, Sink, Source
from headrace.pipeline.jobs.errors import JobRunning
from headrace.pipeline.jobs.fault import fault_of
from headrace.pipeline.jobs.lag_group import table_group
from headrace.pipeline.jobs.limited_log import LimitedLog
from headrace.pipeline.jobs.process_identity import own_identity
from headrace.pipeline.jobs.progress import JobProgress
from headrace.pipeline.jobs.run import JobContext, run_job
from headrace.pipeline.jobs.status import JobState, folded, with_error
from headrace.pipeline.jobs.supervise import first_status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.pipeline.jobs.state import JobDirectory, StateDirectory

log = logging.getLogger(__name__)

TRIGGER = "5 seconds"
STOP_SECONDS_MAX = 30.0
_NAME_LENGTH_MAX = 170
_CLUSTER_LENGTH = 6
_DIGEST_LENGTH = 8


class TableTopic(NamedTuple):
    """What a topic's settings say."""

    topic: str
    format: str
    location: str
    schema: str


class Connection(NamedTuple):
    """How jobs reach the broker that this process belongs to."""

    bootstrap: str
    options: Mapping[str, str]
    """Of the source, ``kafka.`` in front."""
    cluster_id: str


def parse_tables(line: bytes) -> dict[str, TableTopic]:
    """What the broker says, by topic."""
    tables = [TableTopic(**each) for each in json.loads(line)["tables"]]
    return {table.topic: table for table in tables}


def job_name(topic: str, cluster_id: str) -> str:
    """One job per topic and cluster: several brokers of one user share a state directory."""
    cluster = "".join(each for each in cluster_id if each.isalnum())[:_CLUSTER_LENGTH]
    if len(topic) > _NAME_LENGTH_MAX:
        digest = sha256(topic.encode()).hexdigest()[:_DIGEST_LENGTH]
        topic = f"{topic[:_NAME_LENGTH_MAX]}.{digest}"
    return f"table-{topic}-{cluster}"


def definition_of(table: TableTopic, connection: Connection) -> JobDefinition:
    return JobDefinition(
        name=job_name(table.topic, connection.cluster_id),
        kind="parquet",
        group=table_group(table.topic),
        source=Source(
            topics=(table.topic,), bootstrap=connection.bootstrap, options=connection.options
        ),
        sink=Sink(format=table.format, path=table.location, schema=table.schema, trigger=TRIGGER),
    )


def checkpoint_name(definition: JobDefinition) -> str:
    """One for each place of the table: a topic that gets another table begins it anew."""
    place = f"{definition.sink.format} {definition.sink.target}"
    return f"checkpoint-{sha256(place.encode()).hexdigest()[:_DIGEST_LENGTH]}"


def without_options(definition: JobDefinition) -> JobDefinition:
    """As it is kept in the state directory, where the passwords of clients have no place."""
    return replace(definition, source=replace(definition.source, options={}))


class TableJob:
    """One topic's job in a thread of its own, until it is stopped."""

    def __init__(
        self,
        job: JobDirectory,
        definition: JobDefinition,
        session: Callable[[], Any],
        *,
        backoff: Backoff | None = None,
        run: Callable[[JobContext], None] = run_job,
    ) -> None:
        self._job = job
        self._definition = definition
        self._session = session
        self._backoff = backoff or Backoff()
        self._run_job = run
        self._stop = threading.Event()
        self._status = first_status(definition, _now_ms())
        self._thread = threading.Thread(target=self._run, name=definition.name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def join(self, seconds: float) -> bool:
        """Whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._hold()
            except JobRunning as error:
                # A process of a broker that was killed may still be on its way out.
                log.warning("%s; waiting for it", error.message)
                self._stop.wait(self._backoff.after_run_of(0))
            except Exception:
                # Nobody sits beside it: whatever it was, another try is all that can be done.
                log.exception("job %s has no place to run in", self._definition.name)
                self._stop.wait(self._backoff.after_run_of(0))

    def _hold(self) -> None:
        """Until it is stopped; JobRunning if another process has the job."""
        self._job.prepare(without_options(self._definition))
        with self._job.running(own_identity()):
            file = LimitedLog(self._job.log_path)
            try:
                self._keep_running(file)
            finally:
                file.close()

    def _keep_running(self, file: LimitedLog) -> None:
        self._write_status()
        while not self._stop.is_set():
            began = time.monotonic()
            message = "it ended without being asked to"
            try:
                self._attempt()
            except Exception as error:
                message = fault_of(error).message
                log.exception("%s: %s", self._definition.name, message)
            if not self._stop.is_set():
                self._wait_before_retry(message, time.monotonic() - began, file)
        self._status = replace(self._status, state=JobState.STOPPED, rows_per_second=0.0)
        self._write_status()

    def _attempt(self) -> None:
        checkpoint = str(self._job.path / checkpoint_name(self._definition))
        session = self._session()
        self._progress(JobProgress())  # it works now, though a quiet topic may give it no batch
        self._run_job(
            JobContext(session, self._definition, checkpoint, self._progress, self._stop.is_set)
        )

    def _wait_before_retry(self, message: str, ran_seconds: float, file: LimitedLog) -> None:
        wait = self._backoff.after_run_of(ran_seconds)
        file.write_line(f"headrace: {message}; again in {wait:.0f} s".encode())
        failed = with_error(self._status, JobState.RESTARTING, message, _now_ms())
        self._status = replace(failed, restarts=failed.restarts + 1)
        self._write_status()
        self._stop.wait(wait)

    def _write_status(self) -> None:
        try:
            self._job.write_status(self._status)
        except OSError as error:
            # A full disk: the table may be elsewhere, and the next status may be written again.
            log.warning("the status of %s cannot be written: %s", self._definition.name, error)

    def _progress(self, progress: JobProgress) -> None:
        self._status = folded(self._status, progress, _now_ms())
        self._write_status()


class TableJobs:
    """The jobs that run, brought to those that are wanted. Used by one thread."""

    def __init__(
        self,
        state: StateDirectory,
        connection: Connection,
        session: Callable[[], Any],
        make: Callable[..., TableJob] = TableJob,
    ) -> None:
        self._state = state
        self._connection = connection
        self._session = session
        self._make = make
        self._running: dict[TableTopic, TableJob] = {}

    def bring_to(self, wanted: Mapping[str, TableTopic]) -> None:
        """End what is not wanted any more, or not so; start what is new."""
        kept = set(wanted.values())
        ended = [table for table in self._running if table not in kept]
        self._end([self._running.pop(table) for table in ended])
        for table in wanted.values():
            if table not in self._running:
                self._running[table] = self._start(table)

    def stop(self) -> None:
        self._end(list(self._running.values()))
        self._running.clear()

    def _start(self, table: TableTopic) -> TableJob:
        definition = definition_of(table, self._connection)
        job = self._make(self._state.job(definition.name), definition, self._session)
        job.start()
        log.info("%s is kept as a %s table in %s", table.topic, table.format, table.location)
        return job

    def _end(self, jobs: list[TableJob]) -> None:
        for job in jobs:
            job.stop()
        deadline = time.monotonic() + STOP_SECONDS_MAX
        for job in jobs:
            if not job.join(max(deadline - time.monotonic(), 0)):
                log.error("a job does not end; its table is not harmed")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

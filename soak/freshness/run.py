"""A topic under a steady load, a job that follows it into a plain table, and two that look on.

One looks at the table: how old are records when they can be read, how far behind is it. The other
writes a record now and then, and knows what the job costs a producer: before it, with it, after it.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import duckdb

from headrace.pipeline.jobs.priority import take_short_turns
from soak.administrator import Administrator
from soak.clients import ClientStuck
from soak.percentiles import LatencyWindow
from soak.pipeline.driver_process import DriverProcess
from soak.pipeline.outputs import parquet
from soak.pipeline.work import INPUT_TOPIC, DriverWork
from soak.probe import TOPIC as PROBE_TOPIC
from soak.probe import Probe
from soak.topics import LoadTopic, plain
from tests.interop.broker_process import BrokerProcess

from .ages import Ages
from .gauge import Gauge
from .load import LoadProcess
from .phases import WITHOUT, Phase, PhasedLatencies
from .result import WITHOUT_JOB, FreshnessPlan, FreshnessResult, FreshnessSample
from .table_watch import TableWatch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PARTITIONS = 4
SETTINGS = ("log.retention.check.interval.ms=5000", "log.initial.task.delay.ms=0")
TOPIC_SETTINGS = {"retention.bytes": str(512 * 2**20), "segment.bytes": str(64 * 2**20)}
"""Some minutes of the load: the disk stays bounded, and a job that is late does not lose any."""
SAMPLE_SECONDS = 5.0
LOOK_SECONDS = 0.1
SETTLE_SECONDS = 5.0
"""At the beginning of a phase, which count nowhere: Java starts and ends."""
START_SECONDS_MAX = 600.0
CAUGHT_UP_SECONDS = 3.0
"""Behind by no more than this and the time of a batch."""
RATE_MIN = 0.98
"""Of the wanted rate."""
SPARK = {"spark.driver.memory": "1g"}
ONLOOKER_NICENESS = 19


def stand_back() -> None:
    """Of this thread: what is to be measured is the job, and not who looks at its table."""
    os.nice(ONLOOKER_NICENESS)
    take_short_turns()


class FreshnessRun:
    """One broker, one job. ``run`` may be called once."""

    def __init__(
        self,
        directory: Path,
        plan: FreshnessPlan,
        on_sample: Callable[[FreshnessSample], None] = lambda sample: None,
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        options = [part for setting in SETTINGS for part in ("--set", setting)]
        self.result = FreshnessResult(plan)
        self._plan = plan
        self._directory = directory
        self._table = directory / "table"
        self._broker = BrokerProcess(directory / "broker", options)
        self._on_sample = on_sample
        self._driver: DriverProcess | None = None
        self._watch = TableWatch(self._table, PARTITIONS)
        self._onlooker = ThreadPoolExecutor(1, "watch", stand_back)
        self._window, self._all_ages = Ages(), Ages()
        self._latencies = PhasedLatencies()

    def run(self) -> FreshnessResult:
        with self._broker:
            try:
                self._run()
            except (ClientStuck, TimeoutError) as error:
                self.result.failures.append(str(error))
            finally:
                if self._driver is not None:
                    self._driver.kill()
        self._note()
        self._count()
        return self.result

    def _run(self) -> None:
        address = self._broker.bootstrap_servers
        source = LoadTopic(INPUT_TOPIC, PARTITIONS, TOPIC_SETTINGS)
        Administrator(address).create([source, plain(PROBE_TOPIC, 1)])
        self._load = LoadProcess(address, INPUT_TOPIC, PARTITIONS, self._plan.records_per_second)
        probe = Probe(address, self._latencies, LatencyWindow())
        self._load.start()
        probe.start()
        try:
            self._began_s = time.monotonic()
            self._gauge = Gauge(self._broker.pid)
            self._go_through_phases()
        finally:
            self._load.finish()
            probe.finish()
            self.result.failures += self._load.failures + probe.failures
        self.result.records_not_sent = self._load.missed

    def _go_through_phases(self) -> None:
        plan = self._plan
        self._settle()
        self._phase(Phase.BEFORE, lambda: False, plan.without_seconds)
        self._driver = driver = self._start_job()
        if not self._phase(Phase.STARTING, self._has_caught_up, START_SECONDS_MAX):
            raise ClientStuck("the job does not start: " + driver.last_words())
        if self._phase(Phase.WITH, lambda: driver.status is not None, plan.with_seconds):
            raise ClientStuck("the job ended by itself: " + driver.last_words())
        self._latencies.phase = None
        status = driver.stop()
        if status:
            self.result.failures.append(f"the job ended with {status}: {driver.last_words()}")
        self.result.batches = driver.batches
        self._settle()
        self._phase(Phase.AFTER, lambda: False, plan.without_seconds)

    def _start_job(self) -> DriverProcess:
        work = DriverWork(
            job="plain",
            bootstrap_servers=self._broker.bootstrap_servers,
            target=str(self._table),
            checkpoint=str(self._directory / "checkpoint"),
            trigger_seconds=self._plan.trigger_seconds,
            source={"startingOffsets": "latest"},
            spark=SPARK,
            master=self._plan.master,
            niceness=self._plan.niceness,
        )
        return DriverProcess(work, self._directory / "driver.log")

    def _has_caught_up(self) -> bool:
        """It has done more than its first batch, and what piled up meanwhile is in the table."""
        assert self._driver is not None
        lag_seconds = self._watch.lag(self._load.ends) / self._plan.records_per_second
        is_behind = lag_seconds > self._plan.trigger_seconds + CAUGHT_UP_SECONDS
        return self._driver.batches > 1 and self._watch.records > 0 and not is_behind

    # --- looking on -------------------------------------------------------------------------------

    def _settle(self) -> None:
        self._latencies.phase = None
        time.sleep(SETTLE_SECONDS)
        self._latencies.take()

    def _phase(self, phase: Phase, is_over: Callable[[], bool], seconds_max: float) -> bool:
        """Whether it was over before its time."""
        self._latencies.phase = phase
        end_s = time.monotonic() + seconds_max
        sample_s = time.monotonic() + SAMPLE_SECONDS
        while time.monotonic() < end_s:
            if is_over():
                return True
            time.sleep(LOOK_SECONDS)
            if self._driver is not None:
                self._look(phase)
            if time.monotonic() >= sample_s:
                sample_s += SAMPLE_SECONDS
                self._sample(phase)
        return False

    def _look(self, phase: Phase) -> None:
        ages_s = self._onlooker.submit(self._watch.look).result()
        self._window.add(ages_s)
        if phase is Phase.WITH:
            self._all_ages.add(ages_s)

    def _sample(self, phase: Phase) -> None:
        p50_s, p99_s = self._window.take()
        produce = self._latencies.take()
        used = self._gauge.look(self._driver, self._load.acknowledged, self._watch.records)
        sample = FreshnessSample(
            at_seconds=time.monotonic() - self._began_s,
            phase=phase.value,
            lag_records=self._watch.lag(self._load.ends) if phase is Phase.WITH else 0,
            freshness_p50_seconds=p50_s,
            freshness_p99_seconds=p99_s,
            produce_p50_ms=produce.p50_ms,
            produce_p99_ms=produce.p99_ms,
            files=self._watch.files,
            **used,
        )
        self.result.samples.append(sample)
        self._on_sample(sample)

    # --- the end ----------------------------------------------------------------------------------

    def _note(self) -> None:
        result = self.result
        named = {phase.value: (phase,) for phase in Phase} | {WITHOUT_JOB: WITHOUT}
        for name, phases in named.items():
            found = self._latencies.percentiles(*phases)
            result.produce_p50_ms[name], result.produce_p99_ms[name] = found
        result.freshness_p50_seconds = self._all_ages.percentile(0.50)
        result.freshness_p99_seconds = self._all_ages.percentile(0.99)
        wanted = RATE_MIN * self._plan.records_per_second
        rates = [sample.produced_per_second for sample in result.samples]
        if rates and sum(rates) / len(rates) < wanted:
            result.failures.append(f"{sum(rates) / len(rates):,.0f} records/s, not {wanted:,.0f}")

    def _count(self) -> None:
        """Every offset from the first to the last one of each partition, once: by DuckDB."""
        if not any(self._table.glob("**/*.parquet")):
            return
        with duckdb.connect() as connection:
            connection.execute(f"SET temp_directory = '{self._directory / 'duckdb'}'")
            found = connection.execute(
                f"""
                SELECT count(*), count(DISTINCT "offset"), max("offset") - min("offset") + 1
                FROM {parquet([f"{self._table}/**/*.parquet"])} GROUP BY "partition"
                """
            ).fetchall()
        for records, different, expected in found:
            self.result.records_in_table += records
            self.result.records_repeated += records - different
            self.result.records_missing += expected - different

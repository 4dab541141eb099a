"""One job and one kind of victim: kill -9 again and again, then every record is looked for.

The source is never quiet: records come before, during and after each kill, and the job has to keep
up. Whoever is killed is started again at once, as a supervisor would do it, over what is left.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import duckdb
from confluent_kafka import KafkaException

from soak.administrator import Administrator
from soak.clients import ClientStuck
from soak.topics import plain
from tests.interop.broker_process import BrokerProcess
from tests.interop.deadline import DeadlinePassed, wait_until

from .driver_process import DriverProcess
from .feeder import Feeder
from .judging import judge
from .outputs import load_output
from .work import (
    INPUT_PARTITIONS,
    INPUT_TOPIC,
    OUTPUT_PARTITIONS,
    OUTPUT_TOPIC,
    TOPIC,
    DriverWork,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.testing.history import Report

RECORDS_PER_SECOND = 300
TRIGGER_SECONDS = 0.1
BATCH_RECORDS_MAX = 10_000
BATCH_TASKS = 6
COMPACT_BATCHES = 4
"""Kills must meet compactions, too."""
EARLY_SHARE = 0.25
"""Of the drivers that are killed: before they have done a batch."""
MOMENT_SECONDS_MAX = 1.5
AWAY_SECONDS_MAX = 2.0
"""From the broker's end to its next start."""
LONG_AWAY_SHARE = 0.2
LONG_AWAY_SECONDS = 12.0
"""Now and then: longer than a driver goes on asking."""
BROKER_START_SECONDS_MAX = 120.0
STALL_SECONDS_MAX = 300.0
FRUITLESS_MAX = 5
"""Drivers in a row that end by themselves without having done a batch."""
LOOK_SECONDS = 0.02
LEFT_OVER_SECONDS_MAX = 60.0
LOST_TASK = "Lost task"
"""What Spark's log says of a task whose worker died."""
SOURCE = {
    "maxOffsetsPerTrigger": str(BATCH_RECORDS_MAX),
    "minPartitions": str(BATCH_TASKS),
}
SPARK = {
    "spark.driver.memory": "1g",
    # Started again and again: what C1 compiles is good enough, and starts sooner.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@dataclass
class PipelineResult:
    """What a run did and found."""

    job: str
    victim: str
    seed: int
    kills: int = 0
    tasks_lost: int = 0
    """Tasks that Spark had to begin again."""
    drivers_started: int = 0
    drivers_ended_by_themselves: int = 0
    batches: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)
    report: Report | None = None

    @property
    def is_clean(self) -> bool:
        return self.report is not None and self.report.is_clean and not self.failures

    def raise_if_violated(self) -> None:
        assert self.failures == []
        assert self.report is not None
        self.report.raise_if_violated()


class PipelineRun:
    """One broker, one job. ``run`` may be called once."""

    def __init__(
        self,
        directory: Path,
        *,
        job: str,
        victim: str,
        kills: int,
        seed: int,
        on_progress: Callable[[PipelineResult], None] = lambda result: None,
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.result = PipelineResult(job, victim, seed)
        self._directory = directory
        self._log_path = directory / "driver.log"
        self._kills = kills
        self._chance = random.Random(seed)
        self._on_progress = on_progress
        self._broker = BrokerProcess(directory / "broker", start_timeout_s=BROKER_START_SECONDS_MAX)
        self._drivers: list[DriverProcess] = []
        self._fruitless = 0

    def run(self) -> PipelineResult:
        """Ends at the first thing that is stuck: the failures say what it was."""
        started_s = time.monotonic()
        with self._broker:
            try:
                self._run()
            except (ClientStuck, DeadlinePassed, KafkaException, TimeoutError) as error:
                self.result.failures.append(str(error))
            finally:
                for driver in self._drivers[-1:]:
                    driver.kill()
                self.result.batches = sum(driver.batches for driver in self._drivers)
        self.result.tasks_lost = self._tasks_lost()
        self.result.seconds = time.monotonic() - started_s
        return self.result

    def _run(self) -> None:
        address = self._broker.bootstrap_servers
        topics = [plain(INPUT_TOPIC, INPUT_PARTITIONS), plain(OUTPUT_TOPIC, OUTPUT_PARTITIONS)]
        Administrator(address).create(topics)
        feeder = Feeder(address, INPUT_PARTITIONS, RECORDS_PER_SECOND)
        feeder.start()
        try:
            self._start_driver()
            while self.result.kills < self._kills:
                self._await_moment()
                self._strike()
                self._on_progress(self.result)
            self._await_batch()  # the job goes on after the last one, too
            sent = feeder.finish()
        finally:
            feeder.stop()
        self.result.failures += feeder.failures
        self._await_end(sent)
        self._stop()
        with duckdb.connect() as connection:
            load_output(connection, self.result.job, self._target, address)
            self.result.report = judge(connection, sent)

    # --- the driver -------------------------------------------------------------------------------

    @property
    def _target(self) -> str:
        return OUTPUT_TOPIC if self.result.job == TOPIC else str(self._directory / "table")

    @property
    def _driver(self) -> DriverProcess:
        return self._drivers[-1]

    def _start_driver(self) -> None:
        work = DriverWork(
            job=self.result.job,
            bootstrap_servers=self._broker.bootstrap_servers,
            target=self._target,
            checkpoint=str(self._directory / "checkpoint"),
            trigger_seconds=TRIGGER_SECONDS,
            source=SOURCE,
            spark=SPARK,
            compact_batches=COMPACT_BATCHES,
        )
        self._drivers.append(DriverProcess(work, self._log_path))
        self.result.drivers_started += 1

    def _tend(self) -> None:
        """A driver that gave up, for want of a broker, comes back as a supervisor would do it."""
        if self._driver.status is None:
            return
        self.result.drivers_ended_by_themselves += 1
        self._fruitless = 0 if self._driver.batches else self._fruitless + 1
        if self._fruitless > FRUITLESS_MAX:
            raise ClientStuck("drivers end by themselves: " + self._driver.last_words())
        self._driver.kill()
        self._start_driver()

    def _await(self, condition: Callable[[DriverProcess], bool], what: str) -> None:
        """ClientStuck if there is neither what is awaited nor any progress."""
        seen, deadline_s = (-1, -1), time.monotonic() + STALL_SECONDS_MAX
        while not condition(self._driver):
            self._tend()
            state = len(self._drivers), self._driver.batches
            if state[1] and state != seen:
                seen, deadline_s = state, time.monotonic() + STALL_SECONDS_MAX
            if time.monotonic() > deadline_s:
                raise ClientStuck(f"{what}: no progress. " + self._driver.last_words())
            time.sleep(LOOK_SECONDS)

    # --- the kills --------------------------------------------------------------------------------

    def _await_moment(self) -> None:
        """After each kill the job must have gone on, mostly; then at any time."""
        if self.result.victim == "driver" and self._chance.random() < EARLY_SHARE:
            self._await(lambda driver: driver.is_started, "the start of the driver")
        else:
            self._await_batch()
        time.sleep(self._chance.uniform(0, MOMENT_SECONDS_MAX))

    def _await_batch(self) -> None:
        driver, before = self._driver, self._driver.batches
        self._await(lambda now: now.batches > (before if now is driver else 0), "the next batch")

    def _strike(self) -> None:
        if self.result.victim == "broker":
            self._broker.kill()
            time.sleep(self._away_seconds())
            self._broker.start()
            self.result.kills += 1
        elif self.result.victim == "worker":
            self.result.kills += self._driver.kill_worker(self._chance)
        else:
            self.result.kills += self._driver.kill()
            self._start_driver()

    def _away_seconds(self) -> float:
        if self._chance.random() < LONG_AWAY_SHARE:
            return LONG_AWAY_SECONDS
        return self._chance.uniform(0, AWAY_SECONDS_MAX)

    # --- the end ----------------------------------------------------------------------------------

    def _await_end(self, sent: list[int]) -> None:
        ends = {partition: count for partition, count in enumerate(sent) if count}
        # What an earlier driver has said is done; the last one may have nothing left to do.
        self._await(
            lambda _: any(driver.positions == ends for driver in self._drivers), f"the end, {ends}"
        )

    def _stop(self) -> None:
        """Cleanly, and no process of any driver stays behind."""
        status = self._driver.stop()
        if status:
            self.result.failures.append(
                f"the driver ended with {status}: {self._driver.last_words()}"
            )
        wait_until(
            lambda: not any(driver.processes() for driver in self._drivers),
            "the end of all processes of the drivers",
            LEFT_OVER_SECONDS_MAX,
            lambda: [driver.processes() for driver in self._drivers],
        )

    def _tasks_lost(self) -> int:
        if not self._log_path.exists():
            return 0
        with self._log_path.open("r", errors="replace") as log:
            return sum(LOST_TASK in line for line in log)

"""kill -9 of the broker, again and again, under load of every kind; nothing it said may be untrue.

A generation is a set of topics with its clients. It lives for some kills, then every record of it
is checked and its topics are deleted, so that disk and time stay bounded however many cycles there
are. One load lives for the whole run.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from headrace.testing.history import History
from tests.interop.broker_process import BrokerProcess
from tests.interop.deadline import DeadlinePassed

from .administrator import Administrator
from .clients import ClientStuck
from .kill_plans import SETTINGS, generation_plan, lifetime_plan
from .ledger import TopicLedger
from .load import Load, Surroundings
from .moments import FileWatch, Moment, RecoveryWatch
from .questions import Questions
from .retention_bounds import RetentionBounds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.testing.history import Report

CYCLES_PER_GENERATION = 25
START_SECONDS_MAX = 120.0
"""A start takes a second; on a machine that is busy with other work, much more."""
UPTIME_SECONDS_MAX = 0.6
"""At any time: so long after the checks of the restart."""
IN_FLIGHT_SECONDS_MAX = 0.03
"""From the last admin calls to the kill: some are answered by then, and some are not."""
RECOVERY_KILLS_MAX = 2
MOMENTS = (
    *(Moment.ANY,) * 4,
    *(Moment.RECOVERY,) * 2,
    Moment.ROLL,
    Moment.COMPACTION,
    Moment.DELETION,
)


@dataclass
class KillResult:
    """What a run did and found."""

    durability: str
    seed: int
    cycles: int = 0
    kills: int = 0
    kills_in_recovery: int = 0
    moments: Counter[str] = field(default_factory=Counter)
    generations: int = 0
    seconds: float = 0.0
    metadata_changes: int = 0
    metadata_changes_unanswered: int = 0
    failures: list[str] = field(default_factory=list)
    report: Report | None = None

    @property
    def is_clean(self) -> bool:
        return self.report is not None and self.report.is_clean and not self.failures

    def raise_if_violated(self) -> None:
        assert self.report is not None
        self.report.raise_if_violated()
        assert not self.failures, "\n".join(map(str, self.failures))


class PromiseBroken(Exception):
    """There is a violation, or a client cannot go on: the report says which."""


class KillRun:
    """One broker directory, one history. ``run`` may be called once."""

    def __init__(
        self,
        directory: Path,
        *,
        durability: str,
        cycles: int,
        seed: int,
        on_cycle: Callable[[KillResult, History], None] = lambda result, history: None,
    ) -> None:
        settings = [*SETTINGS, f"durability={durability}"]
        options = [part for setting in settings for part in ("--set", setting)]
        self.broker = BrokerProcess(directory, options, start_timeout_s=START_SECONDS_MAX)
        self.result = KillResult(durability, seed)
        self._cycles = cycles
        self._on_cycle = on_cycle
        self._chance = random.Random(seed)
        self._files = FileWatch(directory)
        self._recovery = RecoveryWatch(directory)
        self._loads: list[Load] = []
        self.history = History()

    def run(self) -> KillResult:
        """Ends at the first thing that is wrong: what comes after it would only blur it."""
        started_s = time.monotonic()
        with self.broker:
            try:
                self._run()
            except (PromiseBroken, ClientStuck, DeadlinePassed, KafkaException) as error:
                self.result.failures.append(repr(error))
            finally:
                for load in self._loads:
                    load.stop()
        self.result.seconds = time.monotonic() - started_s
        self.result.report = self.history.report()
        return self.result

    def _run(self) -> None:
        address = self.broker.bootstrap_servers
        bounds = RetentionBounds(self.history)
        administrator = Administrator(address)
        self._questions = Questions(address, self.history, bounds)
        shared = Surroundings(address, self.history, administrator, self._questions, bounds)
        self._ledger = TopicLedger(administrator, self.history)
        lifetime = Load(shared, lifetime_plan())
        self._loads = [lifetime]
        lifetime.start()
        while self.result.cycles < self._cycles:
            self._generation(shared, lifetime)
        lifetime.finish()
        self._verify()
        self.result.metadata_changes = self._ledger.changes_acknowledged
        self.result.metadata_changes_unanswered = self._ledger.changes_unanswered

    def _generation(self, shared: Surroundings, lifetime: Load) -> None:
        number = self.result.generations
        load = Load(shared, generation_plan(number))
        self._loads = [lifetime, load]
        load.start()
        load.wait_until_working()
        for _ in range(min(CYCLES_PER_GENERATION, self._cycles - self.result.cycles)):
            self._cycle(f"g{number}")
            self.result.cycles += 1
            self._on_cycle(self.result, self.history)
        load.finish()
        self._verify()
        load.delete()
        lifetime.scan()
        self.result.generations += 1

    def _cycle(self, prefix: str) -> None:
        trimmed_topic = f"{prefix}-trimmed"
        self._ledger.work(self._chance, trimmed_topic)
        moment = self._chance.choice(MOMENTS)
        if not self._wait_for(moment, prefix):
            moment = Moment.ANY
        in_flight = self._ledger.fire(self._chance, trimmed_topic)
        time.sleep(self._chance.random() * IN_FLIGHT_SECONDS_MAX)
        self.broker.kill()
        self.result.kills += 1
        if moment is Moment.RECOVERY:
            self._kill_in_recovery()
        self.result.moments[moment.value] += 1
        self._recovery.start(self.broker)
        self._ledger.settle(in_flight)
        self._verify()

    def _wait_for(self, moment: Moment, prefix: str) -> bool:
        if moment is Moment.ROLL:
            return self._files.wait_for_roll(f"{prefix}-rolling")
        if moment is Moment.COMPACTION:
            return self._files.wait_for_compaction(f"{prefix}-compacted")
        if moment is Moment.DELETION:
            return self._files.wait_for_deletion(f"{prefix}-ageing")
        time.sleep(self._chance.random() * UPTIME_SECONDS_MAX)
        return True

    def _kill_in_recovery(self) -> None:
        for _ in range(self._chance.randrange(1, RECOVERY_KILLS_MAX + 1)):
            self.broker.spawn()
            if self._recovery.wait_until_begun(self.broker):
                time.sleep(self._chance.random() * self._recovery.recovery_seconds)
                self.result.kills_in_recovery += 1
            self.broker.kill()
            self.result.kills += 1

    def _verify(self) -> None:
        """What is cheap to ask for, after every restart."""
        self._questions.check_ends()
        self._questions.check_commits()
        self._ledger.check()
        failures = [failure for load in self._loads for failure in load.failures]
        if self.history.violations.counts or failures:
            raise PromiseBroken("; ".join(failures) or "see the violations")

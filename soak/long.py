"""A steady load for a long time: every few seconds a look at what it costs, at the end the verdict.

Records flow at a fixed pace, with bursts; old ones go by retention, others by compaction; clients,
topics and groups come and go. Nothing may be lost, and nothing may drift.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from headrace.testing.history import History
from tests.interop.broker_process import BrokerProcess

from . import drift, topics
from .administrator import Administrator
from .churn import Churn
from .clients import ANSWER_SECONDS_MAX
from .load import GroupPlan, Load, LoadPlan, Surroundings
from .percentiles import LatencyWindow
from .probe import TOPIC as PROBE_TOPIC
from .probe import Probe
from .producer import ProducerPlan
from .questions import Questions
from .retention_bounds import RetentionBounds
from .samples import Sample, Sampler

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.testing.history import Report

RECORDS_PER_SECOND = 20_000
VALUE_BYTES = 200
BURST_RECORDS = 20_000
BURST_INTERVAL_SECONDS = 30.0
STREAM_PARTITIONS = 6
STREAM_SEGMENT_BYTES = 16 * 2**20
COMPACTED_SEGMENT_BYTES = 2**18
RETENTION_SECONDS_MAX = 180.0
RETENTION_PART = 1 / 6
"""Of the whole run, so that retention is at work for most of a short run, too."""
DISK_MEGABYTES_MAX = 5_000
SAMPLE_SECONDS = 5.0
SAMPLE_SECONDS_SHORT = 2.0
SHORT_RUN_SECONDS = 600.0
SETTINGS = (
    "group.initial.rebalance.delay.ms=0",
    "log.cleaner.backoff.ms=1000",
    "log.retention.check.interval.ms=2000",
    "log.initial.task.delay.ms=0",
)


def long_plan(seconds: float) -> LoadPlan:
    retention_s = min(RETENTION_SECONDS_MAX, seconds * RETENTION_PART)
    stream = topics.ageing(
        "stream", STREAM_PARTITIONS, int(1000 * retention_s), STREAM_SEGMENT_BYTES
    )
    table = topics.compacted("table", 2, 60_000, COMPACTED_SEGMENT_BYTES)
    packed = {"linger.ms": 5, "batch.size": 100_000}
    return LoadPlan(
        (stream, table),
        (
            ProducerPlan(
                "steady",
                (stream,),
                RECORDS_PER_SECOND * 0.6,
                VALUE_BYTES,
                packed,
                BURST_RECORDS,
                BURST_INTERVAL_SECONDS,
            ),
            ProducerPlan(
                "compressing",
                (stream,),
                RECORDS_PER_SECOND * 0.4 - 500,
                VALUE_BYTES,
                packed | {"compression.type": "lz4"},
            ),
            ProducerPlan("keyed", (table,), 500, VALUE_BYTES, {"linger.ms": 5}),
        ),
        (
            GroupPlan("readers", "classic", 2, (stream,)),
            GroupPlan("table-readers", "consumer", 2, (table,)),
        ),
    )


@dataclass
class LongResult:
    """What a run did, cost and found."""

    seconds: float
    samples: list[Sample] = field(default_factory=list)
    verdicts: list[drift.Verdict] = field(default_factory=list)
    visits: int = 0
    connections: int = 0
    failures: list[str] = field(default_factory=list)
    report: Report | None = None

    @property
    def disk_megabytes_max(self) -> float:
        return max(sample.disk_megabytes for sample in self.samples)

    @property
    def is_clean(self) -> bool:
        return (
            self.report is not None
            and self.report.is_clean
            and not self.failures
            and not any(verdict.has_drifted for verdict in self.verdicts)
            and self.disk_megabytes_max <= DISK_MEGABYTES_MAX
        )


class LongRun:
    """One broker that is never restarted."""

    def __init__(
        self,
        directory: Path,
        seconds: float,
        on_sample: Callable[[Sample, History], None] = lambda sample, history: None,
    ) -> None:
        options = [part for setting in SETTINGS for part in ("--set", setting)]
        self.broker = BrokerProcess(directory, options)
        self.history = History()
        self.result = LongResult(seconds)
        self._on_sample = on_sample
        self._directory = directory

    def run(self) -> LongResult:
        with self.broker:
            self._run()
            status = self.broker.terminate()
        if status != 0:
            self.result.failures.append(f"the broker ended with {status}")
        self.result.verdicts = drift.judge(self.result.samples)
        self.result.report = self.history.report()
        return self.result

    def _run(self) -> None:
        address = self.broker.bootstrap_servers
        bounds = RetentionBounds(self.history)
        self._administrator = Administrator(address)
        self._questions = Questions(address, self.history, bounds)
        shared = Surroundings(address, self.history, self._administrator, self._questions, bounds)
        load = Load(shared, long_plan(self.result.seconds))
        load.start()
        churn = Churn(shared)
        churn.start()
        self._administrator.create([topics.plain(PROBE_TOPIC, 1)])
        acknowledged, read = LatencyWindow(), LatencyWindow()
        probe = Probe(address, acknowledged, read)
        probe.start()
        try:
            self._watch(Sampler(self.broker.pid, self._directory, acknowledged, read))
        finally:
            probe.finish()
        churn.finish()
        load.finish()
        self.result.visits, self.result.connections = churn.visits, churn.connections
        self.result.failures += load.failures + churn.failures + probe.failures

    def _watch(self, sampler: Sampler) -> None:
        seconds = self.result.seconds
        interval_s = SAMPLE_SECONDS if seconds >= SHORT_RUN_SECONDS else SAMPLE_SECONDS_SHORT
        end_s = time.monotonic() + seconds
        due_s = time.monotonic() + interval_s
        while due_s <= end_s:
            time.sleep(max(0.0, due_s - time.monotonic()))
            due_s += interval_s
            self._questions.check_ends()
            self._questions.check_commits()
            counts = self.history.report().counts
            sample = sampler.look(
                counts["records acknowledged"],
                counts["records read by consumers"],
                *self._partitions_and_groups(),
            )
            self.result.samples.append(sample)
            self._on_sample(sample, self.history)

    def _partitions_and_groups(self) -> tuple[int, int]:
        client = self._administrator.client
        found = client.list_topics(timeout=ANSWER_SECONDS_MAX).topics.values()
        try:
            groups = client.list_consumer_groups().result(ANSWER_SECONDS_MAX).valid
        except KafkaException as error:
            self.result.failures.append(f"groups cannot be listed: {error}")
            groups = []
        return sum(len(topic.partitions) for topic in found), len(groups)

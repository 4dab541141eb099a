"""The storage side of a broker over a simulated disk: metadata, logs and chores, started and
stopped in the order in which the launcher does it.

A node that was killed is started again by ``start`` over what its disk has left.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.broker.configurations import Configurations
from headrace.broker.leftovers import clear_leftovers
from headrace.broker.metadata_store import MetadataStore
from headrace.broker.producer_ids import ProducerIds
from headrace.broker.topic_changes import TopicChanges
from headrace.broker.topics import Topics
from headrace.model.errors import HeadraceError
from headrace.storage.chores import Chores
from headrace.storage.log import SegmentedLog
from headrace.storage.log_manager import LogManager
from headrace.testing.metadata_bench import CountingChance
from headrace.testing.simulated_clock import SimulatedClock
from headrace.testing.slow_background import SlowBackground

if TYPE_CHECKING:
    from random import Random

    from headrace.config.broker import BrokerConfig
    from headrace.model.topic import TopicPartition
    from headrace.storage.recovery_report import RecoveryReport
    from headrace.testing.faulty_disk import FaultyDisk

DATA = "data"
SETTINGS = {"log.cleaner.backoff.ms": "1000", "log.retention.check.interval.ms": "1000"}
WRITE_AHEAD_LOG_BYTES_MAX = 4096
"""Small, so that its two files take turns within one workload."""
METADATA_LOG_BYTES_MAX = 1500
"""Small, so that a snapshot is taken within one workload."""


class StorageNode:
    """One data directory with all that keeps it. Everything is public: the judge looks into it."""

    def __init__(self, disk: FaultyDisk, slowness: Random | None = None) -> None:
        self.clock = SimulatedClock()
        self.disk = disk
        self.chance = CountingChance()
        self.background = SlowBackground(self.clock, slowness)
        self.report: RecoveryReport
        self.is_serving = False

    def start(self) -> None:
        """A new process over the directory, as ``server/launcher.py`` brings it up."""
        self.background.forget()
        self.is_serving = False
        disk, clock, background = self.disk, self.clock, self.background
        self.store = MetadataStore(
            DATA,
            disk,
            clock,
            background,
            self.chance,
            configured_node_id=1,
            log_size_bytes_max=METADATA_LOG_BYTES_MAX,
        )
        self.configurations = Configurations(self.store, SETTINGS)
        self.logs = LogManager(DATA, disk, clock, background, self._config())
        self.topics = Topics()
        self.changes = TopicChanges(
            self.topics, self.store, self.logs, self.configurations, self.chance
        )
        self.leftovers = clear_leftovers(disk, DATA, self.store.state, self.store.removed)
        self.report = self.logs.open(self.changes.log_specs())
        self.changes.attach()
        self.changes.advance_leader_epochs(
            [recovery.partition for recovery in self.report.details if recovery.cut_bytes]
        )
        self.producer_ids = ProducerIds(self.store)
        self.chores = Chores(self.logs, clock, self._config)
        self.background.run_all()
        self.is_serving = True

    def stop(self) -> None:
        """The clean stop; the first error is raised at the end, as the launcher does."""
        failure: Exception | None = None
        self.chores.stop()
        for step in (
            self.background.run_all,
            self.logs.close,
            self.background.run_all,
            self.store.close,
        ):
            try:
                step()
            except (HeadraceError, OSError) as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def log(self, partition: TopicPartition) -> SegmentedLog | None:
        log = self.logs.get(partition)
        assert log is None or isinstance(log, SegmentedLog)
        return log

    def _config(self) -> BrokerConfig:
        return replace(
            self.configurations.broker, write_ahead_log_bytes_max=WRITE_AHEAD_LOG_BYTES_MAX
        )

"""Logs on a simulated disk with a simulated clock, for tests of the storage layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.broker import BrokerConfig
from headrace.config.topic import TopicConfig
from headrace.model.topic import TopicPartition
from headrace.records.build import KeyAndValue, build_batch
from headrace.records.decode import decode_records
from headrace.storage.log import SegmentedLog
from headrace.storage.log_manager import LogManager
from headrace.storage.log_port import Appended, LogSpec, Origin
from headrace.testing.faulty_disk import FaultyDisk
from headrace.testing.simulated_background import SimulatedBackground
from headrace.testing.simulated_clock import SimulatedClock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.records.record import Record
    from headrace.storage.recovery_report import RecoveryReport

DATA = "/data"
TOPIC_ID = bytes(range(16))


class StorageBench:
    """One data directory, and a manager over it that can be stopped, killed and started again."""

    def __init__(
        self, disk: FaultyDisk | None = None, settings: Mapping[str, str] | None = None
    ) -> None:
        self.clock = SimulatedClock()
        self.disk = disk or FaultyDisk()
        self.config = BrokerConfig.resolve(settings or {})
        self._specs: dict[TopicPartition, LogSpec] = {}
        self.start()

    def start(self) -> RecoveryReport:
        """A new process over the same directory."""
        self.background = SimulatedBackground(self.clock)
        self.manager = LogManager(DATA, self.disk, self.clock, self.background, self.config)
        return self.manager.open(list(self._specs.values()))

    def log(self, topic: str = "topic", **overrides: object) -> SegmentedLog:
        """A log with these topic settings; dots of their names are written as underscores."""
        texts = {name.replace("_", "."): str(value) for name, value in overrides.items()}
        partition = TopicPartition(topic, 0)
        config = TopicConfig.resolve(texts, self.config)
        spec = LogSpec(partition, TOPIC_ID, config, 0)
        self._specs[partition] = spec
        log = self.manager.create_log(*spec)
        assert isinstance(log, SegmentedLog)
        return log

    def get(self, topic: str = "topic") -> SegmentedLog:
        """The log as it is after a start."""
        log = self.manager.get(TopicPartition(topic, 0))
        assert isinstance(log, SegmentedLog)
        return log

    def append(
        self, log: SegmentedLog, *pairs: KeyAndValue, timestamp_ms: int | None = None, **fields: int
    ) -> Appended:
        """Append one batch of (key, value) with the clock's time."""
        now_ms = self.clock.now_ms() if timestamp_ms is None else timestamp_ms
        batch = build_batch(pairs, timestamp_ms=now_ms, **fields)  # type: ignore[arg-type]
        (appended,) = self.manager.append([(log, batch)], origin=Origin.COORDINATOR)
        return appended


def records_of(log: SegmentedLog) -> list[Record]:
    """All records of a log in order, control records included."""
    return [record for batch in log.records_from() for record in decode_records(batch)]


def pairs_of(log: SegmentedLog) -> list[tuple[int, bytes | None, bytes | None]]:
    """(offset, key, value) of all records."""
    return [(record.offset, record.key, record.value) for record in records_of(log)]


def latest_values(pairs: Sequence[tuple[int, bytes | None, bytes | None]]) -> dict[bytes, bytes]:
    """What a reader of a compacted topic ends up with."""
    values: dict[bytes, bytes] = {}
    for _, key, value in pairs:
        assert key is not None
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value
    return values

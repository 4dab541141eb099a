"""A log manager on a simulated disk, to be stopped, killed and started again in tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.config.broker import BrokerConfig
from headrace.config.topic import TopicConfig
from headrace.model.topic import TopicPartition
from headrace.records.build import build_batch
from headrace.records.decode import decode_records
from headrace.records.header import batches
from headrace.storage.log_manager import LogManager
from headrace.storage.log_port import Appended, LogSpec, Origin
from headrace.testing.faulty_disk import FaultyDisk
from headrace.testing.simulated_background import SimulatedBackground
from headrace.testing.simulated_clock import SimulatedClock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.metrics.registry import StorageCounters
    from headrace.records.record import Record
    from headrace.storage.log_port import Log
    from headrace.storage.recovery_report import RecoveryReport

DIRECTORY = "data"
READ_ALL_BYTES = 1 << 30
WRITE_AHEAD_LOG_BYTES_MAX = 64 * 1024
"""Far below what the settings allow: a simulated disk keeps every byte in memory."""
_ABORT, _COMMIT = b"\x00\x00\x00\x00", b"\x00\x00\x00\x01"
_COORDINATOR_EPOCH = b"\x00\x00\x00\x00\x00\x07"


class LogBench:
    """One node's storage. ``specs`` plays the metadata: it outlives every stop."""

    def __init__(
        self,
        disk: FaultyDisk | None = None,
        settings: Mapping[str, str] | None = None,
        specs: Mapping[TopicPartition, LogSpec] | None = None,
        write_ahead_log_bytes_max: int = WRITE_AHEAD_LOG_BYTES_MAX,
        counters: StorageCounters | None = None,
    ) -> None:
        self.counters = counters
        self.clock = SimulatedClock()
        self.background = SimulatedBackground(self.clock)
        self.disk = disk if disk is not None else FaultyDisk(clock=self.clock)
        self.config = replace(
            BrokerConfig.resolve(settings or {}),
            write_ahead_log_bytes_max=write_ahead_log_bytes_max,
        )
        self.specs = dict(specs or {})
        self.report = self.start()

    def create(self, topic: str = "t", partition: int = 0, **overrides: str) -> Log:
        """A new log; ``segment_bytes="100"`` stands for the topic's ``segment.bytes``."""
        topic_id = topic.encode().ljust(16, b"\x01")[:16]
        config = self.topic_config(**overrides)
        spec = LogSpec(TopicPartition(topic, partition), topic_id, config, 0)
        self.specs[spec.partition] = spec
        return self.manager.create_log(*spec)

    def topic_config(self, **overrides: str) -> TopicConfig:
        named = {name.replace("_", "."): value for name, value in overrides.items()}
        return TopicConfig.resolve(named, self.config)

    def log(self, topic: str = "t", partition: int = 0) -> Log:
        log = self.manager.get(TopicPartition(topic, partition))
        assert log is not None
        return log

    def append(
        self, log: Log, values: Sequence[bytes], *, run: bool = True, **fields: int
    ) -> Appended:
        """Append one client's batch; with ``run`` its sync, if it needs one, happens at once."""
        batch = self.batch(values, **fields)
        appended = self.manager.append([(log, batch)])[0]
        if run:
            self.background.run_all()
        return appended

    def batch(self, values: Sequence[bytes], **fields: int) -> bytearray:
        fields.setdefault("timestamp_ms", self.clock.now_ms())
        return build_batch([(None, value) for value in values], **fields)  # type: ignore[arg-type]

    def append_marker(self, log: Log, producer_id: int, *, abort: bool, epoch: int = 0) -> Appended:
        """The control batch that ends a producer's transaction."""
        batch = build_batch(
            [(_ABORT if abort else _COMMIT, _COORDINATOR_EPOCH)],
            timestamp_ms=self.clock.now_ms(),
            producer_id=producer_id,
            producer_epoch=epoch,
            transactional=True,
            control=True,
        )
        return self.manager.append([(log, batch)], origin=Origin.COORDINATOR)[0]

    def write_checkpoints(self) -> None:
        """What the periodic housekeeping does."""
        self.clock.advance(self.config.log_flush_offset_checkpoint_interval_ms / 1000)
        self.manager.run_housekeeping()
        self.background.run_all()

    # --- stopping and starting --------------------------------------------------------------------

    def stop(self) -> None:
        self.background.run_all()
        self.manager.close()

    def restart(self) -> RecoveryReport:
        """A clean stop and a new start."""
        self.stop()
        return self.start()

    def kill_and_start(self) -> RecoveryReport:
        """The process dies; the page cache survives."""
        self.disk.kill()
        return self.start()

    def lose_power_and_start(self) -> RecoveryReport:
        self.disk.crash()
        return self.start()

    def start(self) -> RecoveryReport:
        self.background.forget()
        self.manager = LogManager(
            DIRECTORY, self.disk, self.clock, self.background, self.config, self.counters
        )
        self.report = self.manager.open(list(self.specs.values()))
        self.background.run_all()
        return self.report


def read_records(log: Log, offset: int | None = None) -> list[Record]:
    """All records that a reader gets from ``offset`` on, fetch after fetch."""
    records: list[Record] = []
    position = log.log_start_offset if offset is None else offset
    while position < log.high_watermark:
        found = log.read(position, READ_ALL_BYTES, log.high_watermark, at_least_one=True)
        data = found.read()
        if not data:
            break
        for start, header in batches(data):
            batch = data[start : start + header.size_bytes]
            records += [record for record in decode_records(batch) if record.offset >= position]
            position = header.last_offset + 1
    return records


def read_values(log: Log, offset: int | None = None) -> list[bytes | None]:
    return [record.value for record in read_records(log, offset)]

"""A data directory with one topic, written by the storage layer, for tests of its readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.config.broker import BrokerConfig
from headrace.config.topic import TopicConfig
from headrace.environment.real import RealDisk
from headrace.model.topic import TopicPartition
from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.read_settings import ReadSettings
from headrace.pipeline.segments import StoredPartition
from headrace.pipeline.storage_location import open_location
from headrace.pipeline.stored import stored_columns
from headrace.records.build import build_batch
from headrace.storage.compaction import Compactor
from headrace.storage.control_batch import build_end_marker
from headrace.storage.log import SegmentedLog
from headrace.storage.log_manager import LogManager
from headrace.storage.log_port import Origin
from headrace.testing.simulated_background import SimulatedBackground
from headrace.testing.simulated_clock import SimulatedClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.records.columns import Columns

TOPIC = "topic"
TOPIC_ID = bytes(range(16))
ADDRESS = TopicPartition(TOPIC, 0)


class LogDirectory:
    """The log of ``topic-0`` in ``directory``; topic settings with ``_`` for each dot."""

    def __init__(self, directory: Path, **overrides: object) -> None:
        self.directory = directory
        self.clock = SimulatedClock()
        self.background = SimulatedBackground(self.clock)
        config = BrokerConfig.resolve({})
        self.manager = LogManager(str(directory), RealDisk(), self.clock, self.background, config)
        self.manager.open([])
        texts = {name.replace("_", "."): str(value) for name, value in overrides.items()}
        log = self.manager.create_log(ADDRESS, TOPIC_ID, TopicConfig.resolve(texts, config), 0)
        assert isinstance(log, SegmentedLog)
        self.log = log

    @property
    def partition(self) -> Path:
        return self.directory / str(ADDRESS)

    @property
    def bases(self) -> list[int]:
        return [segment.base_offset for segment in self.log.segments]

    def append(self, *values: bytes, key: bytes | None = b"k", **fields: int) -> int:
        """One batch; its base offset."""
        pairs = [(key, value) for value in values]
        batch = build_batch(pairs, timestamp_ms=self.clock.now_ms(), **fields)  # type: ignore[arg-type]
        return self._append(batch)

    def fill(self, batches: int, values: int = 3) -> None:
        """Batches of ``values`` records, numbered from the log's end on."""
        for _ in range(batches):
            end = self.log.log_end_offset
            self.append(*(b"value-%d" % offset for offset in range(end, end + values)))
            self.clock.advance_ms(10)

    def in_transaction(self, producer_id: int, *values: bytes) -> int:
        fields = {"producer_id": producer_id, "producer_epoch": 0, "transactional": True}
        return self.append(*values, **fields)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> int:
        marker = build_end_marker(
            producer_id, 0, is_commit=is_commit, coordinator_epoch=0, timestamp_ms=1
        )
        return self._append(marker)

    def compact(self) -> None:
        compactor = Compactor(str(self.directory), self.manager.environment)
        compactor.run([self.log], self.clock.now_ms())
        self.background.run_all()
        assert compactor.rounds == 1

    def write_indexes(self) -> None:
        """As a clean stop does; until then the last entries are in the broker's memory."""
        for segment in self.log.segments:
            segment.write_indexes()

    def stored(self, url: str | None = None) -> StoredPartition:
        return StoredPartition(open_location(url or str(self.directory)), ADDRESS, TOPIC_ID)

    def read(
        self, start: int, end: int | None = None, *, url: str | None = None, **settings: object
    ) -> list[Columns]:
        """A range from the files; to the end of what such a reader may see by default."""
        if end is None:
            is_committed = settings.get("is_committed")
            end = self.log.last_stable_offset if is_committed else self.log.high_watermark
        wanted = OffsetRange(TOPIC, 0, start, end)
        return list(
            self.columns(wanted, ReadSettings({}, **settings), url)  # type: ignore[arg-type]
        )

    def columns(
        self, wanted: OffsetRange, settings: ReadSettings, url: str | None = None
    ) -> Iterator[Columns]:
        return stored_columns(self.stored(url), wanted, settings, lambda: self.log.log_start_offset)

    def _append(self, batch: bytearray) -> int:
        (appended,) = self.manager.append([(self.log, batch)], origin=Origin.COORDINATOR)
        return appended.base_offset


def table_of(columns: list[Columns]) -> pa.Table:
    return pa.Table.from_batches([each.batch for each in columns])


def offsets_of(columns: list[Columns]) -> list[int]:
    return [offset for each in columns for offset in each.batch.column("offset").to_pylist()]


def values_of(columns: list[Columns]) -> list[bytes | None]:
    return [value for each in columns for value in each.batch.column("value").to_pylist()]

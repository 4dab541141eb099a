"""A history to be falsified: one partition, one producer, one group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.testing.history import Fault, History, Stamp

if TYPE_CHECKING:
    from headrace.testing.history_lane import Lane
    from headrace.testing.history_partition import PartitionHistory

TOPIC, GROUP = "orders", "billing"


@dataclass
class Bench:
    """One partition, one producer, and a log that the test may falsify before it is scanned."""

    is_compacted: bool = False
    is_idempotent: bool = True
    history: History = field(default_factory=History)
    log: list[tuple[int, Stamp | None, bytes | None, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.history.topic(TOPIC, 1, is_compacted=self.is_compacted)
        self.partition: PartitionHistory = self.history.partition(TOPIC, 0)
        self.lane: Lane = self.history.lane("p", TOPIC, 0, is_idempotent=self.is_idempotent)
        self.group = self.history.group(GROUP)

    def append(self, stamp: Stamp | None, key: bytes | None = None, tombstone: bool = False) -> int:
        offset = self.log[-1][0] + 1 if self.log else 0
        self.log.append((offset, stamp, key, tombstone))
        return offset

    def produce(self, count: int = 1, *, told: bool = True, acknowledged: bool = True) -> None:
        for _ in range(count):
            stamp = self.lane.send()
            offset = self.append(stamp)
            if acknowledged:
                self.lane.acknowledge(stamp.number, offset if told else None)

    def put(self, key: bytes, *, tombstone: bool = False) -> None:
        stamp = self.lane.send(key, is_tombstone=tombstone)
        offset = self.append(stamp, key, tombstone)
        self.lane.acknowledge(stamp.number, offset)

    def remove(self, *offsets: int) -> None:
        self.log = [entry for entry in self.log if entry[0] not in offsets]

    def replace(self, offset: int, stamp: Stamp | None) -> None:
        self.log = [(o, stamp if o == offset else s, k, t) for o, s, k, t in self.log]

    def scan(self, log_start: int = 0, end: int | None = None) -> None:
        scan = self.partition.scan()
        for offset, stamp, key, tombstone in self.log:
            if offset >= self.partition.log_start_offset:
                scan.read(offset, stamp, key, is_tombstone=tombstone)
        scan.finish(log_start, self.log[-1][0] + 1 if end is None else end)

    @property
    def found(self) -> dict[Fault, int]:
        return self.history.report().violations

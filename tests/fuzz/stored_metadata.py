"""Targets: metadata log, its snapshot and ``meta.properties``, damaged while the broker was down.

An input is one byte of choices and the file's new content. A damaged metadata log may be a reason
not to start, but then by a named error; if it starts, it can create a topic and start again.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import TYPE_CHECKING

from headrace.model.errors import HeadraceError, TopicExists
from headrace.testing.metadata_bench import DATA, CountingChance, MetadataBench
from tests.fuzz.restamp import restamp_file
from tests.fuzz.stored_logs import Files, all_files, disk_of
from tests.fuzz.target import expect

if TYPE_CHECKING:
    from headrace.testing.faulty_disk import FaultyDisk

RESTAMPED = 0x40
NUMBER_MASK = 0x3F
TOPICS = 6
SMALL_LOG_BYTES = 700
META_PROPERTIES = "meta.properties"


@cache
def image() -> Files:
    """A directory with snapshots, a log behind them, deleted topics and changed settings."""
    bench = MetadataBench(log_size_bytes_max=SMALL_LOG_BYTES)
    for number in range(TOPICS):
        bench.create(f"topic-{number}", 2, retention_ms="1000")
        bench.settle()
    bench.changes.delete("topic-1")
    bench.producer_ids.allocate()
    bench.settle()
    bench.create("last")
    bench.settle()
    bench.logs.close()
    bench.store.close()
    return all_files(bench.disk, DATA)


class OtherChance(CountingChance):
    """Random, but the same in every run."""

    def __init__(self) -> None:
        super().__init__()
        self._random = Random(7)

    def random_bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)


class DamagedBench(MetadataBench):
    """A node over files that somebody else left."""

    def __init__(self, disk: FaultyDisk) -> None:
        self._given = disk
        super().__init__()

    def start(self) -> None:
        self.disk = self._given
        self.chance = OtherChance()  # identifiers that the files do not have yet
        super().start()


class StoredMetadataTarget:
    """The files of one kind, by suffix."""

    def __init__(self, name: str, suffix: str) -> None:
        self.name = name
        self._suffix = suffix

    def _paths(self) -> list[str]:
        return sorted(
            path
            for path in image()
            if path.endswith(self._suffix) and ("__cluster_metadata" in path or "meta." in path)
        )

    def seeds(self) -> dict[str, bytes]:
        return {
            f"file-{number}-{'restamped' if flag else 'damaged'}": bytes([number | flag])
            + image()[path]
            for number, path in enumerate(self._paths())
            for flag in (0, RESTAMPED)
        }

    def run(self, data: bytes) -> None:
        choice, content = (data[0], data[1:]) if data else (0, b"")
        paths = self._paths()
        path = paths[(choice & NUMBER_MASK) % len(paths)]
        if choice & RESTAMPED:
            content = restamp_file(content)
        disk = disk_of({**image(), path: content})
        try:
            bench = DamagedBench(disk)
        except HeadraceError:
            return  # a broker that says why it does not start
        try:
            bench.create("afterwards")
        except TopicExists:
            return  # the damage made one
        bench.restart()
        found = bench.topics.get("afterwards") is not None
        expect(found, "a topic that was created after the damage is gone")

    def close(self) -> None:
        """Every input has a disk of its own."""


TARGETS = (
    StoredMetadataTarget("metadata-log", ".log"),
    StoredMetadataTarget("metadata-snapshot", ".checkpoint"),
    StoredMetadataTarget("meta-properties", META_PROPERTIES),
)

"""The snapshot files of one log: taking them, and getting the producers' state back from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.model.errors import DamagedLog
from headrace.storage.batch_walk import walk_batches
from headrace.storage.control_batch import read_end_marker
from headrace.storage.file_names import SNAPSHOT_SUFFIX, segment_file
from headrace.storage.producer_snapshot import decode_snapshot, encode_snapshot
from headrace.storage.producer_state import is_end_marker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.environment.ports import Buffer
    from headrace.storage.batch_walk import RawHeader
    from headrace.storage.log_environment import LogEnvironment
    from headrace.storage.producer_state import CompletedTransaction, Producer, ProducerStates
    from headrace.storage.segment import Segment


class ProducerSnapshots:
    """Offsets at which a snapshot lies in the log's directory."""

    def __init__(self, environment: LogEnvironment, directory: str, offsets: Iterable[int]) -> None:
        self._environment = environment
        self.directory = directory
        self.offsets = sorted(offsets)

    def take(self, offset: int, producers: ProducerStates, *, sync: bool = False) -> None:
        """Write the state as it is just before ``offset``; nothing to do if that is there."""
        if offset in self.offsets:
            return
        data = encode_snapshot(producers)
        self._environment.disk.replace_file(self._path(offset), data, sync=sync)
        self.offsets = sorted([*self.offsets, offset])

    def _path(self, offset: int) -> str:
        return segment_file(self.directory, offset, SNAPSHOT_SUFFIX)

    def load(self, producers: ProducerStates, segments: Iterable[Segment], end_offset: int) -> None:
        """Restore the state before ``end_offset``: the latest good snapshot, then a scan."""
        start_offset = self._restore_latest(producers, end_offset)
        for segment in segments:
            segment.load()
            if segment.next_offset > start_offset and segment.base_offset < end_offset:
                _replay(segment, producers, start_offset, end_offset)

    def _restore_latest(self, producers: ProducerStates, end_offset: int) -> int:
        """The offset of the snapshot that was used; 0 if none was. Bad ones are removed."""
        for offset in [found for found in reversed(self.offsets) if found <= end_offset]:
            path = self._path(offset)
            try:
                restored = decode_snapshot(self._environment.disk.read_file(path), path)
            except DamagedLog:
                self.remove([offset])
                continue
            producers.restore(self._unexpired(restored))
            return offset
        return 0

    def _unexpired(self, producers: list[Producer]) -> list[Producer]:
        oldest_ms = self._environment.clock.now_ms() - self._environment.producer_expiration_ms
        return [
            producer
            for producer in producers
            if producer.transaction_start >= 0 or producer.last_timestamp_ms > oldest_ms
        ]

    def remove(self, offsets: Iterable[int]) -> None:
        for offset in list(offsets):
            if offset in self.offsets:
                self.offsets.remove(offset)
                if self._environment.disk.exists(self._path(offset)):
                    self._environment.disk.remove(self._path(offset))

    def remove_after(self, end_offset: int) -> None:
        """The log was cut: later snapshots speak of records that are gone."""
        self.remove([offset for offset in self.offsets if offset > end_offset])

    def remove_strays(self, segment_bases: Iterable[int], end_offset: int) -> None:
        """Keep those at segment bases and the one of the last clean stop, as Kafka does."""
        kept = {*segment_bases, end_offset}
        self.remove([offset for offset in self.offsets if offset not in kept])


def replay_batch(
    producers: ProducerStates, header: RawHeader, batch: Buffer
) -> CompletedTransaction | None:
    """Bring the state past a batch that is in the log already."""
    if header[9] < 0:
        return None
    if is_end_marker(header):
        marker = read_end_marker(batch)
        return producers.record_marker(header, header[0], marker) if marker else None
    producers.record(header, header[0])
    return None


def _replay(
    segment: Segment, producers: ProducerStates, start_offset: int, end_offset: int
) -> None:
    position = 0
    if start_offset > segment.base_offset:
        place = segment.find(start_offset)
        if place is None:
            return
        position = place.position
    for _, header, batch in walk_batches(segment.handle.open(), position, segment.size_bytes):
        if header[0] >= end_offset:
            return
        replay_batch(producers, header, batch)

"""What compaction keeps of a batch: the latest value of each key, and what producers depend on.

Offsets, sequences and the order of records never change. A batch may lose records, and may end up
empty: it stays as a header if it carries the last sequence of a producer that may still write.
Rules: notes 36, KIP-58 (lags), KIP-98 (transactions), KIP-534 (delete horizon).
"""

from __future__ import annotations

from collections import deque
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from headrace.records.build import build_batch, build_empty_batch
from headrace.records.decode import decode_records
from headrace.records.header import BatchHeader, read_header
from headrace.storage.control_batch import read_end_marker
from headrace.storage.producer_state import NO_OFFSET

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.environment.ports import Buffer
    from headrace.records.record import Record
    from headrace.storage.transaction_index import AbortedTransaction

KEY_BYTES = 176
"""Memory that one key takes at most: digest, offset, and their place in a dictionary as it grows.
"""
KEYS_MAX = 128 * 2**20 // KEY_BYTES
"""Keys that one round can tell apart: about 100 MB. Dirtier logs take several rounds."""
DIGEST_BYTES = 16
"""Longer keys are held as digests: two keys in 2**64 would have to meet for a wrong answer."""


class KeyMap:
    """The latest offset of each key in the dirty part of a log."""

    def __init__(self, keys_max: int = KEYS_MAX) -> None:
        self.keys_max = keys_max
        self.latest_offset = -1
        """Records after this one were not looked at, so all of them are kept."""
        self._offsets: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    def has_room_for(self, count: int) -> bool:
        """One batch always fits: a round that takes in nothing would never end."""
        return not self._offsets or len(self._offsets) + count <= self.keys_max

    def put(self, key: bytes, offset: int) -> None:
        self._offsets[_short(key)] = offset

    def is_latest(self, key: bytes, offset: int) -> bool:
        return offset >= self._offsets.get(_short(key), -1)


def _short(key: bytes) -> bytes:
    """Keys shorter than a digest stand for themselves, so that no key looks like a digest."""
    return key if len(key) < DIGEST_BYTES else blake2b(key, digest_size=DIGEST_BYTES).digest()


class TransactionTracker:
    """Walks a log in order and knows of each batch whether its transaction was aborted."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self.kept: list[AbortedTransaction] = []
        """Aborted transactions whose marker has to stay; the caller takes them away."""
        self._upcoming = deque(sorted(aborted, key=lambda entry: entry.first_offset))
        self._ongoing_aborted: dict[int, AbortedTransaction] = {}
        self._seen_aborted: set[int] = set()
        self._seen_committed: set[int] = set()

    def is_aborted(self, header: BatchHeader) -> bool:
        """For a data batch, in the order of the log."""
        self._begin_up_to(header.last_offset)
        if not header.is_transactional:
            return False
        if header.producer_id in self._ongoing_aborted:
            self._seen_aborted.add(header.producer_id)
            return True
        self._seen_committed.add(header.producer_id)
        return False

    def marker_is_idle(self, header: BatchHeader, batch: Buffer) -> bool:
        """For a control batch: whether no data of its transaction was met before it."""
        self._begin_up_to(header.last_offset)
        if header.record_count == 0:
            return True
        marker = read_end_marker(batch)
        if marker is None:
            return False
        producer_id = header.producer_id
        if not marker.is_abort:
            is_idle = producer_id not in self._seen_committed
            self._seen_committed.discard(producer_id)
            return is_idle
        aborted = self._ongoing_aborted.pop(producer_id, None)
        if aborted is None or producer_id not in self._seen_aborted:
            return True
        self._seen_aborted.discard(producer_id)
        self.kept.append(aborted)
        return False

    def _begin_up_to(self, offset: int) -> None:
        while self._upcoming and self._upcoming[0].first_offset <= offset:
            entry = self._upcoming.popleft()
            self._ongoing_aborted[entry.producer_id] = entry


class LastBatch(NamedTuple):
    """The last data batch of a producer (NO_OFFSET if none is known), and its epoch."""

    last_offset: int
    epoch: int


class BatchFilter:
    """Decides batch by batch, in the order of the log."""

    def __init__(
        self,
        keys: KeyMap,
        transactions: TransactionTracker,
        last_batches: Mapping[int, LastBatch],
        *,
        now_ms: int,
        delete_retention_ms: int,
        decompressed_bytes_max: int,
    ) -> None:
        self.transactions = transactions
        self._keys = keys
        self._last_batches = last_batches
        self._now_ms = now_ms
        self._new_horizon_ms = now_ms + delete_retention_ms
        self._decompressed_bytes_max = decompressed_bytes_max

    def clean(self, batch: Buffer) -> Buffer | None:
        """What stays of the batch: itself, a smaller one, or None."""
        header = read_header(batch)
        is_idle_marker = False
        if header.is_control:
            is_idle_marker = self.transactions.marker_is_idle(header, batch)
            drops_all = is_idle_marker and self._horizon_has_passed(header)
        else:
            drops_all = self.transactions.is_aborted(header)
        # Decoded in any case: it checks the checksum, and damage must not be copied on.
        records = decode_records(batch, size_max=self._decompressed_bytes_max)
        kept = [] if drops_all else self._kept(header, records)
        if not kept:
            if not self._is_last_of_producer(header):
                return None
            return build_empty_batch(header) if records else batch
        needs_horizon = header.delete_horizon_ms is None and (
            is_idle_marker or any(record.value is None for record in kept)
        )
        if len(kept) == len(records) and not needs_horizon:
            return batch
        return self._rebuild(header, kept, needs_horizon)

    def _kept(self, header: BatchHeader, records: list[Record]) -> list[Record]:
        if header.is_control:
            return records
        keeps_tombstones = not self._horizon_has_passed(header)
        return [record for record in records if self._is_kept(record, keeps_tombstones)]

    def _is_kept(self, record: Record, keeps_tombstones: bool) -> bool:
        if record.offset > self._keys.latest_offset:
            return True
        if record.key is None:
            return False
        if record.value is None and not keeps_tombstones:
            return False
        return self._keys.is_latest(record.key, record.offset)

    def _horizon_has_passed(self, header: BatchHeader) -> bool:
        horizon_ms = header.delete_horizon_ms
        return horizon_ms is not None and horizon_ms <= self._now_ms

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        last = self._last_batches.get(header.producer_id) if header.has_producer else None
        if last is None:
            return False
        if last.last_offset != NO_OFFSET:
            return last.last_offset == header.last_offset
        return header.is_control and last.epoch == header.producer_epoch

    def _rebuild(self, header: BatchHeader, kept: list[Record], needs_horizon: bool) -> bytearray:
        horizon_ms = self._new_horizon_ms if needs_horizon else header.delete_horizon_ms
        return build_batch(
            kept,
            base_offset=header.base_offset,
            last_offset=header.last_offset,
            compression=header.compression,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            transactional=header.is_transactional,
            control=header.is_control,
            leader_epoch=header.leader_epoch,
            delete_horizon_ms=horizon_ms,
            log_append_time_ms=header.max_timestamp if header.is_log_append_time else None,
        )

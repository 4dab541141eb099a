"""Reading the log of a group coordinator: batches in, entries to replay out, in their order.

A batch of a transaction gives records that wait, and the transaction's marker is an entry of its
own. While a log is read its transactions may end, and then their markers are appended to it: what
has come after the reading began is read as well, until there is nothing more.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.broker.foreign_batches import maybe_records
from headrace.coordination.groups.transactional_records import PendingRecord, TransactionEnded
from headrace.coordination.shard import CoordinatorRecord
from headrace.model.errors import CorruptRecord
from headrace.records.header import read_header
from headrace.storage.control_batch import read_end_marker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.coordination.groups.transactional_records import GroupLogEntry
    from headrace.records.header import BatchHeader
    from headrace.storage.log_port import Log

log = logging.getLogger(__name__)


class GroupLogReader:
    """Takes the batches of one log in slices, so that a long log does not hold up the loop."""

    def __init__(self, source: Log) -> None:
        self._source = source
        self._batches = source.records_from()
        self._next_offset = source.log_start_offset
        """Where the batch after the last one read begins."""
        self._end_offset = source.log_end_offset
        """The end of the log when the reading began (again). Batches that come meanwhile may be
        read beyond it, and compaction may have taken the last ones before it."""

    def read(self, entries_max: int) -> list[GroupLogEntry] | None:
        """The next entries, at least ``entries_max`` unless the log ends; None: it has ended."""
        found: list[GroupLogEntry] = []
        while True:
            for batch in self._batches:
                found += self._entries_of(batch)
                if len(found) >= entries_max:
                    return found
            if not self._goes_on():
                return found or None

    def _goes_on(self) -> bool:
        """All batches are read. Begin again with those that have been appended since."""
        seen_to = max(self._next_offset, self._end_offset)
        if self._source.log_end_offset <= seen_to:
            return False
        self._end_offset = self._source.log_end_offset
        self._batches = self._source.records_from(seen_to)
        return True

    def _entries_of(self, batch: bytes) -> Sequence[GroupLogEntry]:
        header = read_header(batch)
        self._next_offset = header.last_offset + 1
        if header.is_control:
            return self._marker(batch, header)
        records = maybe_records(batch, self._source.partition) or ()
        if not header.is_transactional:
            return [CoordinatorRecord(r.key, r.value) for r in records if r.key is not None]
        producer_id, epoch = header.producer_id, header.producer_epoch
        return [
            PendingRecord(r.key, r.value, producer_id, epoch) for r in records if r.key is not None
        ]

    def _marker(self, batch: bytes, header: BatchHeader) -> Sequence[GroupLogEntry]:
        try:
            marker = read_end_marker(batch)
        except CorruptRecord as error:
            log.warning("%s: left out a marker: %s", self._source.partition, error)
            return ()
        if marker is None:
            return ()
        return (TransactionEnded(header.producer_id, is_commit=not marker.is_abort),)

"""Reading the log of a group coordinator: batches in, records to replay out.

Offsets that were committed within a transaction count when its marker says so. Headrace does not
write such batches yet, but a log that Kafka wrote has them.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.coordination.shard import CoordinatorRecord
from headrace.records.decode import decode_records
from headrace.records.header import read_header

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.records.header import BatchHeader
    from headrace.storage.log_port import Log

log = logging.getLogger(__name__)

COMMIT_MARKER = 1


class GroupLogReader:
    """Takes the batches of one log in slices, so that a long log does not hold up the loop."""

    def __init__(self, source: Log) -> None:
        self._batches = source.records_from()
        self._name = str(source.partition)
        self._open: dict[int, list[CoordinatorRecord]] = {}
        """Records of transactions without a marker so far, by producer id."""

    def read(self, records_max: int) -> list[CoordinatorRecord] | None:
        """The next records, at least ``records_max`` unless the log ends; None: it has ended."""
        found: list[CoordinatorRecord] = []
        for batch in self._batches:
            found += self._records_of(batch)
            if len(found) >= records_max:
                return found
        if found:
            return found
        if self._open:
            log.warning("%s: left out %d unfinished transactions", self._name, len(self._open))
        return None

    def _records_of(self, batch: bytes) -> list[CoordinatorRecord]:
        header = read_header(batch)
        if header.is_control:
            return self._end_transaction(batch, header)
        records = list(_keyed(batch))
        if not header.is_transactional:
            return records
        self._open.setdefault(header.producer_id, []).extend(records)
        return []

    def _end_transaction(self, batch: bytes, header: BatchHeader) -> list[CoordinatorRecord]:
        pending = self._open.pop(header.producer_id, [])
        marker = next(_keyed(batch), None)
        is_commit = marker is not None and int.from_bytes(marker.key[2:4], "big") == COMMIT_MARKER
        return pending if is_commit else []


def _keyed(batch: bytes) -> Iterator[CoordinatorRecord]:
    for record in decode_records(batch):
        if record.key is not None:
            yield CoordinatorRecord(record.key, record.value)

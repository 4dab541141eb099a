"""Batches of the broker's own topics, some of which others may have written.

Such a topic may come from another broker, and a client may write to some of them. Storage takes a
batch unopened, so what is in it may make no sense. That must not keep the broker from starting.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.model.errors import HeadraceError
from headrace.records.decode import decode_records
from headrace.records.header import crc_is_valid

if TYPE_CHECKING:
    from headrace.model.topic import TopicPartition
    from headrace.records.record import Record

log = logging.getLogger(__name__)


def maybe_records(batch: bytes, partition: TopicPartition) -> list[Record] | None:
    """The records, or None if the batch is still as it was sent and yet cannot be read: then it is
    none of ours. Raises if the disk has changed it."""
    try:
        return decode_records(batch)
    except HeadraceError as error:
        if not crc_is_valid(batch, 0, len(batch)):
            raise
        log.warning("%s: left out a batch: %s", partition, error.message)
        return None

"""Replay a whole metadata log at start-up.

Kafka may write a change as a transaction of several batches: its records count only once its end is
there. Ours need none, because one change is one batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.metadata.records import (
    RecordType,
    RemoveTopicRecord,
    TransactionRecord,
)
from headrace.coordination.metadata.state import MetadataState

if TYPE_CHECKING:
    from headrace.coordination.metadata.records import MetadataRecord
    from headrace.model.topic import TopicId


class MetadataLoader:
    """Builds a state from records. ``removed``: topics whose directories may still be there."""

    def __init__(self) -> None:
        self.state = MetadataState()
        self.removed: dict[TopicId, str] = {}
        self._transaction: list[MetadataRecord] | None = None

    def feed(self, record: MetadataRecord) -> None:
        if isinstance(record, TransactionRecord):
            self._feed_transaction(record.type)
        elif self._transaction is not None:
            self._transaction.append(record)
        else:
            self._replay(record)

    def finish(self) -> int:
        """Forget a transaction that never ended; the number of records that went with it."""
        dropped = len(self._transaction or ())
        self._transaction = None
        return dropped

    def _feed_transaction(self, record_type: RecordType) -> None:
        records, self._transaction = self._transaction or [], None
        if record_type is RecordType.BEGIN_TRANSACTION:
            self._transaction = []
        elif record_type is RecordType.END_TRANSACTION:
            for record in records:
                self._replay(record)

    def _replay(self, record: MetadataRecord) -> None:
        if isinstance(record, RemoveTopicRecord):
            topic = self.state.topic_by_id(record.topic_id)
            if topic is not None:
                self.removed[topic.id] = topic.name
        self.state.replay(record)

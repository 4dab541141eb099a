"""The schema registry's home: the compacted topic ``_schemas`` of this very broker.

``commit`` is the one way to change anything: records are appended first and replayed after, so a
failed append needs no undo. There is one writer, this process; another registry may take the topic
over once this broker's registry is out of use, since the records are Confluent's.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.broker.topics import TopicEvent
from headrace.model.errors import CorruptRecord, RecordTooLarge
from headrace.records.build import build_batch
from headrace.records.decode import decode_records
from headrace.records.header import read_header
from headrace.schemas.records import decode, encode
from headrace.schemas.state import RegistryState
from headrace.storage.log_port import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.broker.topic_changes import TopicChanges
    from headrace.broker.topics import Topic, TopicChange, Topics
    from headrace.environment.ports import Clock
    from headrace.schemas.records import RegistryRecord
    from headrace.storage.log_manager import LogManager

log = logging.getLogger(__name__)

SCHEMAS_TOPIC = "_schemas"
TOPIC_SETTINGS = {"cleanup.policy": "compact"}
PARTITION = 0


class SchemaStore:
    """State in memory, records in the topic."""

    def __init__(
        self, topics: Topics, changes: TopicChanges, logs: LogManager, clock: Clock
    ) -> None:
        self._topics = topics
        self._changes = changes
        self._logs = logs
        self._clock = clock
        self.state = RegistryState()
        self.damaged_records = 0

    def start(self) -> None:
        """Read back what is in the topic, if there is one."""
        self._topics.on_change(self._topic_changed)
        topic = self._topics.get(SCHEMAS_TOPIC)
        if topic is not None:
            self._load(topic)

    def commit(self, records: Sequence[RegistryRecord]) -> int:
        """Write one change, all or nothing, and apply it; the number to wait for.

        StorageFailure or RecordTooLarge: nothing happened.
        """
        if not records:
            return 0
        topic = self._changes.ensure_internal_topic(SCHEMAS_TOPIC, 1, TOPIC_SETTINGS)
        target = topic.partitions[PARTITION].log
        batch = build_batch(
            [encode(record) for record in records],
            timestamp_ms=self._clock.now_ms(),
            leader_epoch=target.leader_epoch,
        )
        limit = target.config.max_message_bytes
        if len(batch) > limit:
            # Our own batches are not checked below, but other readers rely on the topic's limit.
            raise RecordTooLarge(f"batch of {len(batch)} bytes, the topic takes {limit}")
        appended = self._logs.append([(target, batch)], origin=Origin.COORDINATOR)
        for record in records:
            self.state.replay(record)
        return appended[0].commit_number

    def when_durable(
        self, commit_number: int, callback: Callable[[BaseException | None], None]
    ) -> None:
        """Call back once everything up to ``commit_number`` survives what the topic promises."""
        self._logs.when_durable(commit_number, callback)

    def _load(self, topic: Topic) -> None:
        source = topic.partitions[PARTITION].log
        for batch in source.records_from():
            if read_header(batch).is_control:
                continue
            for record in decode_records(batch):
                self._replay(record.key, record.value)
        if self.damaged_records:
            log.warning("%s: left out %d unreadable records", SCHEMAS_TOPIC, self.damaged_records)

    def _replay(self, key: bytes | None, value: bytes | None) -> None:
        if key is None:
            return
        try:
            record = decode(key, value)
        except CorruptRecord as error:
            self.damaged_records += 1
            log.warning("%s: left out a record: %s", SCHEMAS_TOPIC, error.message)
            return
        if record is not None:
            self.state.replay(record)

    def _topic_changed(self, change: TopicChange) -> None:
        if change.event is TopicEvent.DELETED and change.topic.name == SCHEMAS_TOPIC:
            log.warning("topic %s was deleted: the registry is empty now", SCHEMAS_TOPIC)
            self.state = RegistryState()

"""The schema registry's home: the compacted topic ``_schemas`` of this very broker.

``commit`` is the one way to change anything. Records are appended first, and count once a loss of
power cannot take them back: nobody is told of an id that might be given again. There is one writer,
this process; another registry may take the topic over once this one is out of use, since the
records are Confluent's.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.broker.foreign_batches import maybe_records
from headrace.broker.topics import TopicEvent
from headrace.model.errors import (
    CorruptRecord,
    HeadraceError,
    PolicyViolation,
    RecordTooLarge,
    StorageFailure,
)
from headrace.model.topic import TopicPartition
from headrace.records.build import build_batch
from headrace.records.header import read_header
from headrace.schemas.errors import RegistryLoading
from headrace.schemas.records import decode, encode, key_of
from headrace.schemas.state import RegistryState
from headrace.storage.log_port import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.broker.metadata_store import MetadataStore
    from headrace.broker.topic_changes import TopicChanges
    from headrace.broker.topics import Topic, TopicChange, Topics
    from headrace.environment.ports import Background, Cancellable, Clock
    from headrace.schemas.records import RegistryRecord
    from headrace.storage.log_manager import LogManager

log = logging.getLogger(__name__)

SCHEMAS_TOPIC = "_schemas"
TOPIC_SETTINGS = {"cleanup.policy": "compact", "durability": "fsync"}
PARTITION = 0
_ADDRESS = TopicPartition(SCHEMAS_TOPIC, PARTITION)
LOADED_BEFORE_SERVING_BYTES_MAX = 4 * 2**20
"""Read at the start, at once: most registries are smaller, and then nobody has to ask again."""
SLICE_BYTES = 256 * 1024
"""Read in one go while clients are served: some milliseconds of work."""


class SchemaStore:
    """State in memory, records in the topic."""

    def __init__(
        self,
        metadata: MetadataStore,
        topics: Topics,
        changes: TopicChanges,
        logs: LogManager,
        clock: Clock,
        background: Background,
    ) -> None:
        self._metadata = metadata
        self._topics = topics
        self._changes = changes
        self._logs = logs
        self._clock = clock
        self._background = background
        self._unread: Iterator[bytes] | None = None
        self._loader: Cancellable | None = None
        self._failure: HeadraceError | None = None
        self._state = RegistryState()
        self._foreign_keys: dict[bytes, set[bytes]] = {}
        """By our own key: how others spelt it. Compaction goes by the bytes of a key, so a record
        under another spelling would outlive its deletion, and come back."""
        self.damaged_records = 0

    @property
    def is_loading(self) -> bool:
        return self._unread is not None

    @property
    def state(self) -> RegistryState:
        """What the registry knows. RegistryLoading or StorageFailure while that is not all."""
        if self._failure is not None:
            raise StorageFailure(f"topic {SCHEMAS_TOPIC} is unreadable: {self._failure.message}")
        if self._unread is not None:
            raise RegistryLoading("The schemas are being read: try again in a moment")
        return self._state

    def start(self) -> None:
        """Read back what is in the topic, if there is one; the last part of it later."""
        self._topics.on_change(self._topic_changed)
        topic = self._topics.get(SCHEMAS_TOPIC)
        if topic is not None:
            self._unread = topic.partitions[PARTITION].log.records_from()
            self._load_some(LOADED_BEFORE_SERVING_BYTES_MAX)

    def close(self) -> None:
        if self._loader is not None:
            self._loader.cancel()
            self._loader = None

    # --- writing --------------------------------------------------------------------------------

    def commit(
        self, records: Sequence[RegistryRecord], done: Callable[[BaseException | None], None]
    ) -> None:
        """Write one change, all or nothing; it is applied, then ``done`` called, when it is safe.

        The caller decides nothing else meanwhile. StorageFailure or RecordTooLarge: nothing
        happened.
        """
        state = self.state
        if not records:
            done(None)
            return
        topic = self._changes.ensure_internal_topic(SCHEMAS_TOPIC, 1, TOPIC_SETTINGS)
        _raise_if_not_kept(topic)
        target = topic.partitions[PARTITION].log
        batch = build_batch(
            [pair for record in records for pair in self._encoded(record)],
            timestamp_ms=self._clock.now_ms(),
            leader_epoch=target.leader_epoch,
        )
        limit = target.config.max_message_bytes
        if len(batch) > limit:
            # Our own batches are not checked below, but other readers rely on the topic's limit.
            raise RecordTooLarge(f"batch of {len(batch)} bytes, the topic takes {limit}")
        appended = self._logs.append([(target, batch)], origin=Origin.COORDINATOR)

        def records_are_safe(error: BaseException | None) -> None:
            if error is None:
                for record in records:
                    state.replay(record)
            done(error)

        def topic_is_safe(error: BaseException | None) -> None:
            if error is not None:
                done(error)
                return
            self._logs.when_durable(appended[0].commit_number, records_are_safe)

        # The topic itself may be new: without it the records would be swept away at the next start.
        self._metadata.when_durable(topic_is_safe)

    def _encoded(self, record: RegistryRecord) -> list[tuple[bytes, bytes | None]]:
        key, value = encode(record)
        spellings = sorted(self._foreign_keys.get(key, ()))
        return [*((spelling, None) for spelling in spellings), (key, value)]

    # --- reading --------------------------------------------------------------------------------

    def _load_some(self, bytes_max: int) -> None:
        self._loader = None
        try:
            is_all = self._read_on(bytes_max)
        except HeadraceError as error:
            # To go on without some of the schemas would mean to give their ids again.
            log.error("topic %s is unreadable, no schema is served: %s", SCHEMAS_TOPIC, error)
            self._failure, self._unread = error, None
            return
        if not is_all:
            self._loader = self._background.call_later(0, lambda: self._load_some(SLICE_BYTES))
            return
        self._unread = None
        if self.damaged_records:
            log.warning("%s: left out %d unreadable records", SCHEMAS_TOPIC, self.damaged_records)

    def _read_on(self, bytes_max: int) -> bool:
        """Replay the next batches; whether those were the last ones."""
        assert self._unread is not None
        size_bytes = 0
        for batch in self._unread:
            if not read_header(batch).is_control:
                self._replay_batch(batch)
            size_bytes += len(batch)
            if size_bytes >= bytes_max:
                return False
        return True

    def _replay_batch(self, batch: bytes) -> None:
        records = maybe_records(batch, _ADDRESS)
        if records is None:
            self.damaged_records += 1
            return
        for record in records:
            self._replay(record.key, record.value)

    def _replay(self, key: bytes | None, value: bytes | None) -> None:
        if key is None:
            return
        try:
            record = decode(key, value)
            own_key = key if record is None else key_of(record)
        except (CorruptRecord, UnicodeEncodeError) as error:
            self.damaged_records += 1
            log.warning("%s: left out a record: %s", SCHEMAS_TOPIC, error)
            return
        if record is not None:
            self._state.replay(record)
        if key != own_key and value is not None:
            self._foreign_keys.setdefault(own_key, set()).add(key)

    def _topic_changed(self, change: TopicChange) -> None:
        if change.event is TopicEvent.DELETED and change.topic.name == SCHEMAS_TOPIC:
            log.warning("topic %s was deleted: the registry is empty now", SCHEMAS_TOPIC)
            self.close()
            self._unread = self._failure = None
            self._foreign_keys.clear()
            self._state = RegistryState()


def _raise_if_not_kept(topic: Topic) -> None:
    """Somebody else may have made the topic, with settings by which schemas would be lost."""
    if topic.config.cleanup_policy != {"compact"}:
        raise PolicyViolation(
            f"topic {topic.name} must be compacted and nothing else, or schemas are lost; run: "
            f"headrace topic alter {topic.name} --config cleanup.policy=compact"
        )

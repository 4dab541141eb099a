"""The metadata of the cluster, embedded: its state in memory, its log in the data directory.

``commit`` is the one way to change anything: the records are appended first and replayed after, so
a failed append needs no undo. An answer that tells of a change waits for ``when_durable``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.cluster_info import identify
from headrace.coordination.metadata.features import INITIAL_LEVELS
from headrace.coordination.metadata.loading import MetadataLoader
from headrace.coordination.metadata.notices import foreign_feature_notices, topic_notices
from headrace.coordination.metadata.record_codec import decode, encode
from headrace.coordination.metadata.records import FeatureLevelRecord
from headrace.coordination.metadata.snapshot import snapshot_records
from headrace.coordination.metadata.topics import decide_leadership
from headrace.storage.metadata_checkpoint import read_checkpoint
from headrace.storage.metadata_log import SIZE_BYTES_MAX, MetadataLog

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.coordination.metadata.records import MetadataRecord
    from headrace.coordination.metadata.state import MetadataState
    from headrace.coordination.metadata.topics import Node
    from headrace.environment.ports import Background, Chance, Clock, Disk
    from headrace.model.topic import TopicId

BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"


class MetadataStore:
    """Opens the metadata of one data directory and keeps it."""

    def __init__(
        self,
        directory: str,
        disk: Disk,
        clock: Clock,
        background: Background,
        chance: Chance,
        *,
        configured_node_id: int = 1,
        log_size_bytes_max: int = SIZE_BYTES_MAX,
    ) -> None:
        """Read everything, or begin a new directory. ``notices`` says what cannot be served."""
        self.directory = directory
        self.disk = disk
        self.cluster = identify(disk, directory, chance, configured_node_id)
        self._log = MetadataLog(
            directory, disk, clock, background, self._snapshot_values, log_size_bytes_max
        )
        contents = self._log.open()
        self.notices: list[str] = [*self._identity_notices(configured_node_id), *contents.notices]
        loader = self._load(contents.values)
        self.state: MetadataState = loader.state
        self.removed: dict[TopicId, str] = loader.removed
        """Topics that the log says are removed: their directories may still be there."""
        self._take_over(is_empty=not contents.values)

    @property
    def node(self) -> Node:
        return self.cluster.node

    @property
    def end_offset(self) -> int:
        """Where the next record of the metadata log will be."""
        return self._log.next_offset

    @property
    def durable_offset(self) -> int:
        """Records before this survive a loss of power."""
        return self._log.durable_offset

    @property
    def leader_epoch(self) -> int:
        """Since when this node leads the metadata log; all it writes carries it."""
        return self._log.epoch

    def commit(self, records: Sequence[MetadataRecord]) -> None:
        """Write one change, all or nothing, and apply it. StorageFailure: nothing happened."""
        if not records:
            return
        self._log.append([encode(record) for record in records])
        for record in records:
            self.state.replay(record)
        self._log.work_on()

    def when_durable(self, done: Callable[[BaseException | None], None]) -> None:
        """Call back once everything committed so far survives a loss of power."""
        self._log.when_durable(done)

    def close(self) -> None:
        """Call after the last commit, when no work runs in the background any more."""
        self._log.close()

    def _load(self, values: Sequence[bytes]) -> MetadataLoader:
        loader = MetadataLoader()
        for value in values:
            loader.feed(decode(value))
        dropped = loader.finish()
        if dropped:
            self.notices.append(f"an unfinished change of metadata was dropped ({dropped} records)")
        return loader

    def _take_over(self, *, is_empty: bool) -> None:
        if is_empty:
            self.commit(self._first_records())
        self.notices += foreign_feature_notices(self.state)
        self.notices += topic_notices(self.state, self.node.id)
        self.commit(decide_leadership(self.state, self.node))

    def _first_records(self) -> list[MetadataRecord]:
        """Those that Kafka's formatting tool left, else our own."""
        path = f"{self.directory}/{BOOTSTRAP_CHECKPOINT}"
        if self.disk.exists(path):
            return [decode(value) for value in read_checkpoint(self.disk, path)]
        return [FeatureLevelRecord(name, level) for name, level in INITIAL_LEVELS.items()]

    def _snapshot_values(self) -> list[bytes]:
        return [encode(record) for record in snapshot_records(self.state, self.node.id)]

    def _identity_notices(self, configured_node_id: int) -> list[str]:
        if self.node.id == configured_node_id:
            return []
        return [
            f"the directory belongs to node {self.node.id}: "
            f"the configured node.id={configured_node_id} is not used"
        ]

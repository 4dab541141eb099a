"""Create, grow, delete and reconfigure topics.

Every change takes the same way: decide against the replayed metadata, commit the records, then make
logs and look-up follow. A crash in between is mended at start: ``log_specs`` names every log that
should exist, and ``clear_leftovers`` removes those that should not.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from headrace.broker.topics import Partition, Topic
from headrace.config.topic import TopicConfig
from headrace.coordination.metadata.notices import is_wholly_here
from headrace.coordination.metadata.records import PartitionRecord, ResourceType
from headrace.coordination.metadata.topics import (
    Bounds,
    NewTopic,
    decide_creation,
    decide_deletion,
    decide_growth,
    decide_new_epochs,
    known_topic,
)
from headrace.model.errors import (
    PolicyViolation,
    StorageFailure,
    TopicDeletionDisabled,
    UnknownTopicId,
)
from headrace.model.topic import NO_TOPIC_ID, TopicPartition
from headrace.storage.log_port import LogSpec
from headrace.storage.metadata_files import new_uuid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.broker.configurations import Configurations
    from headrace.broker.metadata_store import MetadataStore
    from headrace.broker.topics import Topics
    from headrace.coordination.metadata.state import ConfigResource, TopicState
    from headrace.environment.ports import Chance
    from headrace.model.topic import TopicId
    from headrace.storage.log_manager import LogManager

log = logging.getLogger(__name__)


class CreatedTopic(NamedTuple):
    """What was created, or would have been: then the id is NO_TOPIC_ID."""

    name: str
    id: TopicId
    partition_count: int
    overrides: Mapping[str, str]


class TopicChanges:
    """The only writer of ``Topics``."""

    def __init__(
        self,
        topics: Topics,
        store: MetadataStore,
        logs: LogManager,
        configurations: Configurations,
        chance: Chance,
    ) -> None:
        self._topics = topics
        self._store = store
        self._logs = logs
        self._configurations = configurations
        self._chance = chance
        configurations.on_change(self._settings_changed)

    def log_specs(self) -> list[LogSpec]:
        """At start: every log that should exist, for ``LogManager.open``."""
        return [
            LogSpec(TopicPartition(topic.name, index), topic.id, config, partition.leader_epoch)
            for topic in self._served()
            for config in (self._configurations.topic(topic.name),)
            for index, partition in sorted(topic.partitions.items())
        ]

    def attach(self) -> None:
        """At start, after ``LogManager.open``: fill ``Topics``."""
        for state in self._served():
            overrides = self._configurations.topic_settings(state.name)
            config = self._configurations.resolve_topic(overrides)
            topic = Topic(state.name, state.id, overrides, config)
            for index, partition in sorted(state.partitions.items()):
                address = TopicPartition(state.name, index)
                epoch = partition.leader_epoch
                found = self._logs.get(address)
                if found is None:
                    found = self._logs.create_log(address, state.id, config, epoch)
                topic.partitions.append(Partition(state.name, state.id, index, found, epoch))
            self._topics.add(topic)

    def create(self, wish: NewTopic, *, validate_only: bool = False) -> CreatedTopic:
        """Create a topic with all its partitions; it can be used when this returns."""
        topic_id = new_uuid(self._chance)
        broker = self._configurations.broker
        if wish.replication_factor == -1 and not wish.assignments:
            wish = wish._replace(replication_factor=broker.default_replication_factor)
        records = decide_creation(
            self._store.state, wish, topic_id, self._store.node, self._bounds()
        )
        config = TopicConfig.resolve(wish.overrides, broker)
        count = sum(isinstance(record, PartitionRecord) for record in records)
        if validate_only:
            return CreatedTopic(wish.name, NO_TOPIC_ID, count, wish.overrides)
        self._store.commit(records)
        topic = Topic(wish.name, topic_id, wish.overrides, config)
        try:
            topic.partitions += self._new_partitions(topic, range(count))
        except StorageFailure:
            self._undo_creation(topic, count)
            raise
        self._topics.add(topic)
        return CreatedTopic(wish.name, topic_id, count, wish.overrides)

    def ensure_internal_topic(
        self, name: str, partition_count: int, overrides: Mapping[str, str]
    ) -> Topic:
        """The topic of this name, created if it is not there yet."""
        topic = self._topics.get(name)
        if topic is None:
            self.create(NewTopic(name, partition_count, 1, overrides))
            topic = self._topics.get(name)
            assert topic is not None, name
        return topic

    def grow(
        self,
        name: str,
        partition_count: int,
        assignments: Sequence[Sequence[int]] | None = None,
        *,
        validate_only: bool = False,
    ) -> None:
        """Raise the number of partitions to ``partition_count``."""
        records = decide_growth(
            self._store.state, name, partition_count, assignments, self._store.node, self._bounds()
        )
        topic = self._topics.get(name)
        if topic is None:
            raise PolicyViolation(f"topic {name!r} is not wholly on this node and cannot grow")
        if topic.is_internal:
            # A group's place follows from the number of partitions: all of them would be lost.
            raise PolicyViolation(f"the number of partitions of {name!r} cannot be changed")
        if validate_only:
            return
        indexes = range(len(topic.partitions), partition_count)
        try:
            # Logs first: no record could take a partition back, an empty directory does no harm.
            partitions = self._new_partitions(topic, indexes)
            self._store.commit(records)
        except StorageFailure:
            self._delete_logs(topic.name, indexes)
            raise
        self._topics.grow(topic, partitions)

    def delete(self, name: str) -> TopicId:
        """Delete a topic with its records; the id that it had."""
        return self._delete(known_topic(self._store.state, name))

    def delete_by_id(self, topic_id: TopicId) -> str:
        """As ``delete``; the name that it had."""
        topic = self._store.state.topic_by_id(topic_id)
        if topic is None:
            raise UnknownTopicId("there is no topic with this id")
        self._delete(topic)
        return topic.name

    def advance_leader_epochs(self, partitions: Sequence[TopicPartition]) -> None:
        """Begin a new epoch where recovery had to cut a log, so that consumers notice (KIP-320)."""
        self._store.commit(decide_new_epochs(self._store.state, partitions, self._store.node))
        for name, index in partitions:
            epoch = known_topic(self._store.state, name).partitions[index].leader_epoch
            partition = self._topics.partition(name, index)
            if partition is not None:
                partition.leader_epoch = partition.log.leader_epoch = epoch

    def _delete(self, state: TopicState) -> TopicId:
        if not self._configurations.broker.delete_topic_enable:
            raise TopicDeletionDisabled("delete.topic.enable=false")
        self._store.commit(decide_deletion(state))
        topic = self._topics.get(state.name)
        if topic is not None:
            self._topics.remove(topic)
            self._delete_logs(topic.name, range(len(topic.partitions)))
        return state.id

    def _served(self) -> list[TopicState]:
        node_id = self._store.node.id
        return [topic for topic in self._store.state.topics() if is_wholly_here(topic, node_id)]

    def _bounds(self) -> Bounds:
        broker = self._configurations.broker
        return Bounds(broker.num_partitions, broker.partitions_max)

    def _new_partitions(self, topic: Topic, indexes: range) -> list[Partition]:
        create_log = self._logs.create_log
        return [
            Partition(
                topic.name,
                topic.id,
                index,
                create_log(TopicPartition(topic.name, index), topic.id, topic.config, 0),
            )
            for index in indexes
        ]

    def _undo_creation(self, topic: Topic, partition_count: int) -> None:
        """The disk refused a directory: nobody has seen the topic yet, so it never was."""
        self._store.commit(decide_deletion(known_topic(self._store.state, topic.name)))
        self._delete_logs(topic.name, range(partition_count))

    def _delete_logs(self, name: str, indexes: range) -> None:
        """Those that exist. One that cannot be deleted now is deleted at the next start."""
        for index in indexes:
            address = TopicPartition(name, index)
            if self._logs.get(address) is None:
                continue
            try:
                self._logs.delete_log(address)
            except StorageFailure as error:
                log.warning("log %s cannot be deleted: %s", address, error.message)

    def _settings_changed(self, resource: ConfigResource) -> None:
        if resource.type is ResourceType.TOPIC:
            topic = self._topics.get(resource.name)
            changed = [topic] if topic is not None else []
        else:
            changed = list(self._topics)
        for topic in changed:
            self._reconfigure(topic)

    def _reconfigure(self, topic: Topic) -> None:
        overrides = self._configurations.topic_settings(topic.name)
        config = self._configurations.resolve_topic(overrides)
        if config == topic.config and overrides == topic.overrides:
            return
        for partition in topic.partitions:
            self._logs.update_config(partition.address, config)
        self._topics.reconfigure(topic, overrides, config)

"""What the metadata log says once all of it is replayed.

``replay`` is the only thing that changes this state, at start-up and at run time alike. Deciders
read it and return records; nobody else writes to it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from headrace.coordination.metadata.access_state import AccessState
from headrace.coordination.metadata.records import (
    NO_LEADER_CHANGE,
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    ForeignRecord,
    MembershipRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RemoveAccessControlEntryRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    ResourceType,
    TopicRecord,
    TransactionRecord,
    UnknownRecord,
    UserScramCredentialRecord,
)
from headrace.model.errors import DamagedLog
from headrace.model.topic import collision_key
from headrace.quotas.limits import QuotaLimits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from headrace.coordination.metadata.records import MetadataRecord
    from headrace.model.topic import TopicId


class ConfigResource(NamedTuple):
    """What a configuration belongs to. The broker resource with an empty name is the default."""

    type: ResourceType
    name: str


class PartitionState(NamedTuple):
    """Who has a copy of a partition, and who leads it since which epoch."""

    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    directories: tuple[bytes, ...]


class TopicState:
    """One topic as recorded; partitions by index."""

    __slots__ = ("id", "name", "partitions")

    def __init__(self, name: str, topic_id: TopicId) -> None:
        self.name = name
        self.id = topic_id
        self.partitions: dict[int, PartitionState] = {}


_NO_CONFIG: Mapping[str, str] = {}


class MetadataState:
    """Topics, configurations, access control, quotas, features and the producer id counter."""

    def __init__(self) -> None:
        self._by_name: dict[str, TopicState] = {}
        self._by_id: dict[TopicId, TopicState] = {}
        self._names_by_collision_key: dict[str, set[str]] = {}
        self._configs: dict[ConfigResource, dict[str, str]] = {}
        self.access = AccessState()
        self.quotas = QuotaLimits()
        self.features: dict[str, int] = {}
        self.next_producer_id = 0
        self.partition_count = 0
        self.foreign: list[ForeignRecord] = []
        """Records of features that are not served, kept so that no snapshot loses them."""
        self.unknown: Counter[int] = Counter()
        """How often each unknown record type was seen."""

    def topic(self, name: str) -> TopicState | None:
        return self._by_name.get(name)

    def topic_by_id(self, topic_id: TopicId) -> TopicState | None:
        return self._by_id.get(topic_id)

    def topics(self) -> Iterator[TopicState]:
        return iter(self._by_name.values())

    def colliding_names(self, name: str) -> set[str]:
        """Topics whose names differ from ``name`` in nothing but ``.`` and ``_``."""
        return self._names_by_collision_key.get(collision_key(name), set()) - {name}

    def config(self, resource: ConfigResource) -> Mapping[str, str]:
        return self._configs.get(resource, _NO_CONFIG)

    def configured(self, resource_type: ResourceType) -> Iterator[str]:
        """Names of the resources of a type that have any configuration."""
        return (resource.name for resource in self._configs if resource.type is resource_type)

    def configs(self) -> Iterable[tuple[ConfigResource, Mapping[str, str]]]:
        return self._configs.items()

    def replay(self, record: MetadataRecord) -> None:
        match record:
            case PartitionRecord():
                self._replay_partition(record)
            case PartitionChangeRecord():
                self._replay_partition_change(record)
            case TopicRecord():
                self._replay_topic(record)
            case RemoveTopicRecord():
                self._replay_remove_topic(record)
            case ConfigRecord():
                self._replay_config(record)
            case FeatureLevelRecord():
                self._replay_feature(record)
            case ProducerIdsRecord():
                self.next_producer_id = max(self.next_producer_id, record.next_producer_id)
            case ClientQuotaRecord():
                self.quotas.set(record.entity, record.name, record.value)
            case (
                AccessControlEntryRecord()
                | RemoveAccessControlEntryRecord()
                | UserScramCredentialRecord()
                | RemoveUserScramCredentialRecord()
            ):
                self.access.replay(record)
            case ForeignRecord():
                self.foreign.append(record)
            case UnknownRecord():
                self.unknown[record.type_number] += 1
            case MembershipRecord() | TransactionRecord():
                return  # Who lives is known by who runs; transactions are the loader's business.

    def _replay_topic(self, record: TopicRecord) -> None:
        topic = TopicState(record.name, record.topic_id)
        self._by_name[topic.name] = topic
        self._by_id[topic.id] = topic
        self._names_by_collision_key.setdefault(collision_key(topic.name), set()).add(topic.name)

    def _replay_partition(self, record: PartitionRecord) -> None:
        topic = self._known_topic(record.topic_id)
        if record.partition not in topic.partitions:
            self.partition_count += 1
        topic.partitions[record.partition] = PartitionState(
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
            record.replicas,
            record.in_sync,
            record.directories,
        )

    def _replay_partition_change(self, record: PartitionChangeRecord) -> None:
        topic = self._known_topic(record.topic_id)
        before = topic.partitions.get(record.partition)
        if before is None:
            raise DamagedLog(
                f"the metadata log changes {topic.name}-{record.partition}, "
                "a partition that it never created"
            )
        keeps_leader = record.leader == NO_LEADER_CHANGE
        topic.partitions[record.partition] = PartitionState(
            before.leader if keeps_leader else record.leader,
            before.leader_epoch if keeps_leader else before.leader_epoch + 1,
            before.partition_epoch + 1,
            before.replicas if record.replicas is None else record.replicas,
            before.in_sync if record.in_sync is None else record.in_sync,
            before.directories if record.directories is None else record.directories,
        )

    def _replay_remove_topic(self, record: RemoveTopicRecord) -> None:
        topic = self._known_topic(record.topic_id)
        del self._by_id[topic.id]
        del self._by_name[topic.name]
        key = collision_key(topic.name)
        names = self._names_by_collision_key[key]
        names.discard(topic.name)
        if not names:
            del self._names_by_collision_key[key]
        self._configs.pop(ConfigResource(ResourceType.TOPIC, topic.name), None)
        self.partition_count -= len(topic.partitions)

    def _replay_config(self, record: ConfigRecord) -> None:
        resource = ConfigResource(record.resource_type, record.resource_name)
        if record.value is not None:
            self._configs.setdefault(resource, {})[record.name] = record.value
            return
        values = self._configs.get(resource)
        if values is None:
            return
        values.pop(record.name, None)
        if not values:
            del self._configs[resource]

    def _replay_feature(self, record: FeatureLevelRecord) -> None:
        if record.level == 0:
            self.features.pop(record.name, None)
        else:
            self.features[record.name] = record.level

    def _known_topic(self, topic_id: TopicId) -> TopicState:
        topic = self._by_id.get(topic_id)
        if topic is None:
            raise DamagedLog(
                f"the metadata log speaks of topic id {topic_id.hex()}, which it never created"
            )
        return topic

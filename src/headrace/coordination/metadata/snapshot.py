"""A state as the shortest list of records that replays to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.metadata.records import (
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionRecord,
    ProducerIdsRecord,
    TopicRecord,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.coordination.metadata.records import MetadataRecord
    from headrace.coordination.metadata.state import MetadataState, TopicState


def snapshot_records(state: MetadataState, node_id: int) -> Iterator[MetadataRecord]:
    """Features first, as Kafka wants them; a topic before its partitions."""
    for name, level in state.features.items():
        yield FeatureLevelRecord(name, level)
    for topic in state.topics():
        yield TopicRecord(topic.name, topic.id)
        yield from _partitions(topic)
    for resource, settings in state.configs():
        for name, value in settings.items():
            yield ConfigRecord(resource.type, resource.name, name, value)
    if state.next_producer_id:
        yield ProducerIdsRecord(node_id, state.next_producer_id)
    yield from state.access.snapshot()
    for entity, quotas in state.quotas:
        for name, limit in quotas.items():
            yield ClientQuotaRecord(entity, name, limit)
    yield from state.foreign


def _partitions(topic: TopicState) -> Iterator[PartitionRecord]:
    for index, partition in topic.partitions.items():
        yield PartitionRecord(
            partition=index,
            topic_id=topic.id,
            replicas=partition.replicas,
            in_sync=partition.in_sync,
            leader=partition.leader,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            directories=partition.directories,
        )

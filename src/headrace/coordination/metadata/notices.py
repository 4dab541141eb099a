"""What a directory holds that this node cannot serve, in sentences for the operator."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headrace.coordination.metadata.records import RecordType, ResourceType
from headrace.coordination.metadata.state import ConfigResource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.coordination.metadata.state import MetadataState, TopicState

NAMES_SHOWN_MAX = 5

_REMOVALS = {
    RecordType.REMOVE_DELEGATION_TOKEN: RecordType.DELEGATION_TOKEN,
}

_NOT_SERVED = {
    RecordType.CLIENT_QUOTA: "quotas of an unknown kind of entity are not enforced",
    RecordType.DELEGATION_TOKEN: "delegation tokens are not accepted",
    RecordType.CONFIG: "settings of an unknown kind of resource are ignored",
}


def foreign_feature_notices(state: MetadataState) -> list[str]:
    counts: Counter[RecordType] = Counter()
    for record in state.foreign:
        if record.type in _REMOVALS:
            counts[_REMOVALS[record.type]] -= 1
        else:
            counts[record.type] += 1
    sentences = [
        f"{sentence} (metadata records kept: {counts[record_type]})"
        for record_type, sentence in _NOT_SERVED.items()
        if counts[record_type] > 0
    ]
    sentences += (
        f"metadata records of unknown type {number} are ignored ({count})"
        for number, count in sorted(state.unknown.items())
    )
    return sentences


def topic_notices(state: MetadataState, node_id: int) -> list[str]:
    """Call before leadership is taken: afterwards nobody knows of the other replicas."""
    elsewhere = [topic for topic in state.topics() if not is_wholly_here(topic, node_id)]
    shared = [
        topic
        for topic in state.topics()
        if is_wholly_here(topic, node_id)
        and any(len(partition.replicas) > 1 for partition in topic.partitions.values())
    ]
    tiered = [topic for topic in state.topics() if _is_tiered(state, topic)]
    sentences = []
    if elsewhere:
        sentences.append(
            f"topics with partitions that have no copy on node {node_id} are not served: "
            + names_of(elsewhere)
        )
    if shared:
        sentences.append(f"this node is now the only replica of: {names_of(shared)}")
    if tiered:
        sentences.append(
            f"there is no remote tier, so only the local part is served of: {names_of(tiered)}"
        )
    return sentences


def is_wholly_here(topic: TopicState, node_id: int) -> bool:
    """Whether this node has every partition, numbered without a gap."""
    partitions = topic.partitions
    return sorted(partitions) == list(range(len(partitions))) and all(
        node_id in partition.replicas for partition in partitions.values()
    )


def names_of(topics: Sequence[TopicState]) -> str:
    names = sorted(topic.name for topic in topics)
    shown = ", ".join(names[:NAMES_SHOWN_MAX])
    more = len(names) - NAMES_SHOWN_MAX
    return f"{shown} and {more} more" if more > 0 else shown


def _is_tiered(state: MetadataState, topic: TopicState) -> bool:
    config = state.config(ConfigResource(ResourceType.TOPIC, topic.name))
    return config.get("remote.storage.enable", "false").strip().lower() == "true"

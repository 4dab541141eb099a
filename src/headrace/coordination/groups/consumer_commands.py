"""What can be asked of consumer groups (KIP-848), and what they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.coordination.groups.consumer_member import NO_REBALANCE_TIMEOUT
from headrace.model.topic import TopicId

if TYPE_CHECKING:
    from collections.abc import Callable

PartitionsByTopic = dict[TopicId, frozenset[int]]


class ConsumerHeartbeat(NamedTuple):
    """Answered with ConsumerHeartbeatReply. None always means: as before."""

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = NO_REBALANCE_TIMEOUT
    topic_names: frozenset[str] | None = None
    pattern: str | None = None
    assignor: str | None = None
    owned: PartitionsByTopic | None = None
    """The partitions that the client owns right now."""
    client_id: str = ""
    client_host: str = ""
    may_lack_member_id: bool = False
    """The caller's protocol version is one in which the coordinator makes ids (before KIP-1082)."""
    is_visible: Callable[[str], bool] | None = None
    """Which topics the caller may see: a pattern matches no others. None: all of them."""


class ConsumerHeartbeatReply(NamedTuple):
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int
    assigned: PartitionsByTopic | None
    """The partitions to own from now on; None: as before."""


class DescribeConsumerGroup(NamedTuple):
    """Answered with DescribedConsumerGroup; GroupNotFound unless it is a consumer group."""

    group_id: str


class DescribedTopic(NamedTuple):
    topic_id: TopicId
    name: str
    partitions: tuple[int, ...]


class DescribedConsumer(NamedTuple):
    member_id: str
    instance_id: str | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    topic_names: tuple[str, ...]
    pattern: str
    assigned: tuple[DescribedTopic, ...]
    target: tuple[DescribedTopic, ...]


class DescribedConsumerGroup(NamedTuple):
    group_id: str
    state: str
    group_epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[DescribedConsumer, ...]

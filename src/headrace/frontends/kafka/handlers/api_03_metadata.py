"""Metadata (key 3), versions 0-13.

v1 rack, controller, internal topics; null means all topics, where v0 had the empty list ·
v2 cluster id · v4 auto-creation can be declined · v5 offline replicas · v7 leader epochs ·
v8 authorized operations · v9 flexible · v10 topic ids · v11 no cluster operations ·
v12 topics by id · v13 top-level error.

A topic that is created on the way is answered as it then is: there is nobody to wait for.
What may not be described looks the same whether it exists or not, and is left out of all topics.
An id is no secret, as in Kafka: who knows one is told that its topic is not for them, not its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from headrace.coordination.metadata.topics import NewTopic
from headrace.frontends.kafka.authorization import (
    raise_if_creation_refused,
    raise_if_topic_refused,
)
from headrace.frontends.kafka.authorized_operations import cluster_operations, topic_operations
from headrace.frontends.kafka.durable_answer import answer_when_durable
from headrace.frontends.kafka.errors import error_code
from headrace.frontends.kafka.throttling import mutations_of
from headrace.model.errors import (
    HeadraceError,
    InvalidRequest,
    ThrottlingQuotaExceeded,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from headrace.model.topic import INTERNAL_TOPICS, NO_TOPIC_ID, raise_if_illegal_topic_name
from headrace.security.acl import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.broker.topics import Topic
    from headrace.codecs.kafka.generated.metadata import MetadataRequest, MetadataRequestTopic
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 3
VERSIONS = (0, 13)

NULL_NAMES_FROM = 12
STRICT_QUOTA_FROM = 0


def handle(request: MetadataRequest, context: RequestContext) -> MetadataResponse | Pending:
    broker = context.broker
    wanted = request.topics
    topics_before = len(broker.topics)
    if wanted is None or (context.version == 0 and not wanted):
        topics = [
            _described(topic, request, context)
            for topic in broker.topics
            if context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic.name)
        ]
    else:
        topics = [_answer_one(topic, request, context) for topic in _distinct(wanted)]
    response = MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=broker.cluster.node_id,
                host=context.listener.host,
                port=context.listener.port,
                rack=broker.config.broker_rack,
            )
        ],
        cluster_id=broker.cluster.cluster_id,
        controller_id=broker.cluster.node_id,
        topics=topics,
        cluster_authorized_operations=cluster_operations(
            context, is_asked=request.include_cluster_authorized_operations
        ),
    )
    if len(broker.topics) == topics_before:
        return response
    return answer_when_durable(context, response, topics)


def _distinct(topics: Sequence[MetadataRequestTopic]) -> Sequence[MetadataRequestTopic]:
    return list({(topic.topic_id, topic.name): topic for topic in topics}.values())


def _answer_one(
    wanted: MetadataRequestTopic, request: MetadataRequest, context: RequestContext
) -> MetadataResponseTopic:
    try:
        return _described(_found_or_created(wanted, request, context), request, context)
    except HeadraceError as error:
        is_name_needed = context.version < NULL_NAMES_FROM
        return MetadataResponseTopic(
            error_code=error_code(error),
            name=wanted.name or "" if is_name_needed else wanted.name,
            topic_id=wanted.topic_id,
            is_internal=wanted.name in INTERNAL_TOPICS,
        )


def _found_or_created(
    wanted: MetadataRequestTopic, request: MetadataRequest, context: RequestContext
) -> Topic:
    broker = context.broker
    if wanted.topic_id != NO_TOPIC_ID:
        if context.version < NULL_NAMES_FROM:
            raise InvalidRequest(f"version {context.version} cannot ask for topics by id")
        topic = broker.topics.by_id(wanted.topic_id)
        if topic is None:
            raise UnknownTopicId("there is no topic with this id")
        raise_if_topic_refused(context, Operation.DESCRIBE, topic.name)
        return topic
    name = wanted.name
    if name is None:
        raise InvalidRequest("neither name nor id of the topic is given")
    raise_if_topic_refused(context, Operation.DESCRIBE, name)
    topic = broker.topics.get(name)
    if topic is not None:
        return topic
    raise_if_illegal_topic_name(name)
    may_create = request.allow_auto_topic_creation and broker.config.auto_create_topics_enable
    if not may_create or name in INTERNAL_TOPICS:
        raise UnknownTopicOrPartition(f"there is no topic {name!r}")
    raise_if_creation_refused(context, name)
    _raise_if_throttled(name, context)
    broker.topic_changes.create(NewTopic(name))
    topic = broker.topics.get(name)
    assert topic is not None, name
    return topic


def _raise_if_throttled(name: str, context: RequestContext) -> None:
    """No version knows of quotas: the topic is not there yet, and will be asked for again."""
    try:
        mutations_of(context, STRICT_QUOTA_FROM).take(context.broker.config.num_partitions)
    except ThrottlingQuotaExceeded as error:
        raise UnknownTopicOrPartition(
            f"topic {name!r} cannot be created now: {error.message}"
        ) from error


def _described(
    topic: Topic, request: MetadataRequest, context: RequestContext
) -> MetadataResponseTopic:
    node_id = context.broker.cluster.node_id
    replicas = (node_id,)
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.is_internal,
        partitions=[
            MetadataResponsePartition(
                0, partition.index, node_id, partition.leader_epoch, replicas, replicas
            )
            for partition in topic.partitions
        ],
        topic_authorized_operations=topic_operations(
            context, topic.name, is_asked=request.include_topic_authorized_operations
        ),
    )

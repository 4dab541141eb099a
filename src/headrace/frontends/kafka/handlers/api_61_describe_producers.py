"""DescribeProducers (key 61), version 0: the producers of a partition and their transactions.

For operators who look for transactions that hang (KIP-664). Whoever may not read a topic is not
told whether it exists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.describe_producers import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from headrace.frontends.kafka.authorization import raise_if_topic_refused
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.model.errors import HeadraceError, UnknownTopicOrPartition
from headrace.model.topic import raise_if_illegal_topic_name
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.describe_producers import (
        DescribeProducersRequest,
        TopicRequest,
    )
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 61
VERSIONS = (0, 0)


def handle(request: DescribeProducersRequest, context: RequestContext) -> DescribeProducersResponse:
    return DescribeProducersResponse(topics=[_topic(each, context) for each in request.topics])


def _topic(wanted: TopicRequest, context: RequestContext) -> TopicResponse:
    try:
        raise_if_illegal_topic_name(wanted.name)
        raise_if_topic_refused(context, Operation.READ, wanted.name)
    except HeadraceError as error:
        partitions = [_failed(index, error) for index in wanted.partition_indexes]
    else:
        partitions = [_partition(wanted.name, i, context) for i in wanted.partition_indexes]
    return TopicResponse(wanted.name, partitions)


def _partition(topic: str, index: int, context: RequestContext) -> PartitionResponse:
    partition = context.broker.topics.partition(topic, index)
    if partition is None:
        return _failed(index, UnknownTopicOrPartition("there is no such partition"))
    try:
        producers = [ProducerState(*view) for view in partition.log.producers()]
    except HeadraceError as error:
        return _failed(index, error)
    return PartitionResponse(index, active_producers=producers)


def _failed(index: int, error: HeadraceError) -> PartitionResponse:
    return PartitionResponse(index, error_code(error), error_message(error))

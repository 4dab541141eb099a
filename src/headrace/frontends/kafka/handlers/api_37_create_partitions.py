"""CreatePartitions (key 37), versions 0-3.

v2 flexible · v3 THROTTLING_QUOTA_EXCEEDED.

The number of partitions only grows. Errors are per topic.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.create_partitions import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from headrace.frontends.kafka.authorization import raise_if_topic_refused
from headrace.frontends.kafka.durable_answer import answer_when_durable
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.frontends.kafka.throttling import mutations_of
from headrace.model.errors import HeadraceError, InvalidRequest
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.broker.quotas import Mutations
    from headrace.codecs.kafka.generated.create_partitions import (
        CreatePartitionsRequest,
        CreatePartitionsTopic,
    )
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 37
VERSIONS = (0, 3)

STRICT_QUOTA_FROM = 3


def handle(
    request: CreatePartitionsRequest, context: RequestContext
) -> CreatePartitionsResponse | Pending:
    mutations = mutations_of(context, STRICT_QUOTA_FROM)
    times_named = Counter(topic.name for topic in request.topics)
    wanted = {topic.name: topic for topic in request.topics}.values()
    results = [
        _grow(
            topic,
            context,
            mutations,
            times_named[topic.name],
            validate_only=request.validate_only,
        )
        for topic in wanted
    ]
    response = CreatePartitionsResponse(mutations.throttle_ms, results)
    return answer_when_durable(context, response, results)


def _grow(
    topic: CreatePartitionsTopic,
    context: RequestContext,
    mutations: Mutations,
    times_named: int,
    *,
    validate_only: bool,
) -> CreatePartitionsTopicResult:
    changes = context.broker.topic_changes
    assignments = (
        None if topic.assignments is None else [each.broker_ids for each in topic.assignments]
    )
    try:
        if times_named > 1:
            raise InvalidRequest(f"topic {topic.name!r} is named {times_named} times")
        raise_if_topic_refused(context, Operation.ALTER, topic.name)
        if mutations.is_limited and not validate_only:
            changes.grow(topic.name, topic.count, assignments, validate_only=True)
            mutations.take(topic.count - _partition_count(topic.name, context))
        changes.grow(topic.name, topic.count, assignments, validate_only=validate_only)
    except HeadraceError as error:
        return CreatePartitionsTopicResult(topic.name, error_code(error), error_message(error))
    return CreatePartitionsTopicResult(topic.name)


def _partition_count(name: str, context: RequestContext) -> int:
    return len(context.broker.topics.partitions(name) or ())

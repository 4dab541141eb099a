"""CreatePartitions (key 37), versions 0-3.

v2 flexible · v3 quotas (none here). The number of partitions only grows. Errors are per topic.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.create_partitions import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from headrace.frontends.kafka.durable_answer import answer_when_durable
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.model.errors import HeadraceError, InvalidRequest

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.create_partitions import (
        CreatePartitionsRequest,
        CreatePartitionsTopic,
    )
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 37
VERSIONS = (0, 3)


def handle(
    request: CreatePartitionsRequest, context: RequestContext
) -> CreatePartitionsResponse | Pending:
    times_named = Counter(topic.name for topic in request.topics)
    wanted = {topic.name: topic for topic in request.topics}.values()
    results = [
        _grow(topic, context, times_named[topic.name], validate_only=request.validate_only)
        for topic in wanted
    ]
    return answer_when_durable(context, CreatePartitionsResponse(results=results), results)


def _grow(
    topic: CreatePartitionsTopic, context: RequestContext, times_named: int, *, validate_only: bool
) -> CreatePartitionsTopicResult:
    assignments = topic.assignments
    try:
        if times_named > 1:
            raise InvalidRequest(f"topic {topic.name!r} is named {times_named} times")
        context.broker.topic_changes.grow(
            topic.name,
            topic.count,
            None if assignments is None else [each.broker_ids for each in assignments],
            validate_only=validate_only,
        )
    except HeadraceError as error:
        return CreatePartitionsTopicResult(topic.name, error_code(error), error_message(error))
    return CreatePartitionsTopicResult(topic.name)

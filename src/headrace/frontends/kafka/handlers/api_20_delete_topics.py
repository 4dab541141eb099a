"""DeleteTopics (key 20), versions 1-6.

v3 TOPIC_DELETION_DISABLED where deletion is switched off, INVALID_REQUEST before · v4 flexible ·
v5 error messages, THROTTLING_QUOTA_EXCEEDED · v6 by name or by id.

Errors are per topic. As in Kafka, internal topics can be deleted like any other.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from headrace.frontends.kafka.authorization import maybe_topic_refusal
from headrace.frontends.kafka.durable_answer import answer_when_durable
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.frontends.kafka.throttling import mutations_of
from headrace.model.errors import HeadraceError, InvalidRequest, TopicDeletionDisabled
from headrace.model.topic import NO_TOPIC_ID
from headrace.security.acl import Operation, ResourceType

if TYPE_CHECKING:
    from headrace.broker.quotas import Mutations
    from headrace.codecs.kafka.generated.delete_topics import DeleteTopicsRequest
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 20
VERSIONS = (1, 6)

DISABLED_CODE_FROM = 3
STRICT_QUOTA_FROM = 5


def handle(request: DeleteTopicsRequest, context: RequestContext) -> DeleteTopicsResponse | Pending:
    mutations = mutations_of(context, STRICT_QUOTA_FROM)
    wanted = [*request.topics, *(DeleteTopicState(name=name) for name in request.topic_names)]
    ids = [_known_id(topic, context) for topic in wanted]
    times_named = Counter(topic_id for topic_id in ids if topic_id != NO_TOPIC_ID)
    distinct = {
        (topic.name, topic.topic_id): (topic, topic_id)
        for topic, topic_id in zip(wanted, ids, strict=True)
    }
    results = [
        _delete(topic, context, mutations, times_named[topic_id])
        for topic, topic_id in distinct.values()
    ]
    response = DeleteTopicsResponse(mutations.throttle_ms, results)
    return answer_when_durable(context, response, results)


def _known_id(topic: DeleteTopicState, context: RequestContext) -> bytes:
    """So that a topic that is named once by name and once by id counts twice."""
    if topic.name is None:
        return topic.topic_id
    known = context.broker.topics.get(topic.name)
    return NO_TOPIC_ID if known is None else known.id


def _delete(
    topic: DeleteTopicState, context: RequestContext, mutations: Mutations, times_named: int
) -> DeletableTopicResult:
    changes = context.broker.topic_changes
    result = DeletableTopicResult(name=topic.name, topic_id=topic.topic_id)
    try:
        _raise_if_refused(result, context)
        if times_named > 1:
            raise InvalidRequest("the topic is named more than once")
        if (topic.name is None) == (topic.topic_id == NO_TOPIC_ID):
            raise InvalidRequest("either the name or the id of the topic must be given")
        mutations.take(_partition_count(topic, context))
        if topic.name is None:
            result.name = changes.delete_by_id(topic.topic_id)
        else:
            result.topic_id = changes.delete(topic.name)
    except HeadraceError as error:
        result.error_code = _code(error, context.version)
        result.error_message = error_message(error)
    return result


def _partition_count(topic: DeleteTopicState, context: RequestContext) -> int:
    topics = context.broker.topics
    known = topics.by_id(topic.topic_id) if topic.name is None else topics.get(topic.name)
    return 0 if known is None else len(known.partitions)


def _raise_if_refused(result: DeletableTopicResult, context: RequestContext) -> None:
    """Ids are no secret, names are: a name is told to those who may describe the topic."""
    name = result.name
    if name is None:
        topic = context.broker.topics.by_id(result.topic_id)
        if topic is None:
            return
        name = topic.name
    refusal = maybe_topic_refusal(context, Operation.DELETE, name)
    if refusal is None:
        return
    if context.allows(Operation.DESCRIBE, ResourceType.TOPIC, name):
        result.name = name
    raise refusal


def _code(error: HeadraceError, version: int) -> int:
    if isinstance(error, TopicDeletionDisabled) and version < DISABLED_CODE_FROM:
        return error_code(InvalidRequest())
    return error_code(error)

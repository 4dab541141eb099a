"""CreateTopics (key 19), versions 2-7.

v4 -1 for the default number of partitions and replicas · v5 flexible; the answer tells partitions,
replicas and settings · v6 THROTTLING_QUOTA_EXCEEDED · v7 topic id in the answer.

Errors are per topic. A topic is in Metadata, with all its partitions, when the answer arrives.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.create_topics import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsResponse,
)
from headrace.config.describe import describe_topic
from headrace.coordination.metadata.topics import NewTopic
from headrace.frontends.kafka.authorization import raise_if_creation_refused
from headrace.frontends.kafka.config_resources import SOURCE_CODES
from headrace.frontends.kafka.durable_answer import answer_when_durable
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.frontends.kafka.throttling import mutations_of
from headrace.model.errors import (
    HeadraceError,
    InvalidConfig,
    InvalidRequest,
    TopicAuthorizationFailed,
)
from headrace.security.acl import Operation, ResourceType

if TYPE_CHECKING:
    from headrace.broker.quotas import Mutations
    from headrace.broker.topic_changes import CreatedTopic
    from headrace.codecs.kafka.generated.create_topics import CreatableTopic, CreateTopicsRequest
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 19
VERSIONS = (2, 7)

SETTINGS_FROM = 5
STRICT_QUOTA_FROM = 6
NOT_TOLD = -1


def handle(request: CreateTopicsRequest, context: RequestContext) -> CreateTopicsResponse | Pending:
    mutations = mutations_of(context, STRICT_QUOTA_FROM)
    times_named = Counter(topic.name for topic in request.topics)
    wanted = {topic.name: topic for topic in request.topics}.values()
    results = [
        _create(
            topic,
            context,
            mutations,
            times_named[topic.name],
            validate_only=request.validate_only,
        )
        for topic in wanted
    ]
    response = CreateTopicsResponse(mutations.throttle_ms, results)
    if request.validate_only:
        return response
    return answer_when_durable(context, response, results)


def _create(
    topic: CreatableTopic,
    context: RequestContext,
    mutations: Mutations,
    times_named: int,
    *,
    validate_only: bool,
) -> CreatableTopicResult:
    try:
        if times_named > 1:
            raise InvalidRequest(f"topic {topic.name!r} is named {times_named} times")
        raise_if_creation_refused(context, topic.name)
        wish = NewTopic(
            topic.name,
            topic.num_partitions,
            topic.replication_factor,
            _overrides(topic),
            [(each.partition_index, each.broker_ids) for each in topic.assignments],
        )
        changes = context.broker.topic_changes
        if mutations.is_limited and not validate_only:
            mutations.take(changes.create(wish, validate_only=True).partition_count)
        created = changes.create(wish, validate_only=validate_only)
    except HeadraceError as error:
        return CreatableTopicResult(
            name=topic.name, error_code=error_code(error), error_message=error_message(error)
        )
    return _created(created, context)


def _overrides(topic: CreatableTopic) -> dict[str, str]:
    overrides: dict[str, str] = {}
    for config in topic.configs:
        if config.value is None:
            raise InvalidConfig(f"{config.name}: a value is needed")
        overrides[config.name] = config.value
    return overrides


def _created(created: CreatedTopic, context: RequestContext) -> CreatableTopicResult:
    result = CreatableTopicResult(
        name=created.name,
        topic_id=created.id,
        error_message=None,
        num_partitions=created.partition_count,
        replication_factor=1,
    )
    if context.version < SETTINGS_FROM:
        return result
    if not context.allows(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, created.name):
        _hide_settings(result)
    else:
        result.configs = [
            CreatableTopicConfigs(
                entry.name,
                entry.value,
                entry.read_only,
                SOURCE_CODES[entry.source],
                entry.is_sensitive,
            )
            for entry in describe_topic(created.overrides, context.broker.config)
        ]
    return result


def _hide_settings(result: CreatableTopicResult) -> None:
    """The topic is there, but its creator may not look at it."""
    result.topic_config_error_code = error_code(TopicAuthorizationFailed())
    result.num_partitions = result.replication_factor = NOT_TOLD
    result.configs = []

"""DescribeConfigs (key 32), versions 1-4.

v1 sources and synonyms · v3 types and documentation · v4 flexible. No keys, or null, means all.

Topics, this broker, the defaults of all brokers (empty name), log levels; of a group, what the
broker's own settings make of it; client metrics have none, because none are collected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from headrace.config.describe import describe_broker, describe_broker_defaults, describe_topic
from headrace.config.option import Kind
from headrace.coordination.metadata.records import ResourceType
from headrace.frontends.kafka.config_resources import (
    BROKER_LOGGER_SOURCE,
    KIND_CODES,
    SOURCE_CODES,
    config_resource,
    raise_if_config_refused,
)
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.frontends.kafka.log_levels import log_levels
from headrace.model.errors import HeadraceError, InvalidRequest, UnknownTopicOrPartition
from headrace.model.topic import raise_if_illegal_topic_name
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.codecs.kafka.generated.describe_configs import (
        DescribeConfigsRequest,
        DescribeConfigsResource,
    )
    from headrace.config.describe import ConfigEntry
    from headrace.coordination.metadata.state import ConfigResource
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 32
VERSIONS = (1, 4)

_GROUP_OPTIONS = {
    "group.consumer.heartbeat.interval.ms": "consumer.heartbeat.interval.ms",
    "group.consumer.session.timeout.ms": "consumer.session.timeout.ms",
}


def handle(request: DescribeConfigsRequest, context: RequestContext) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=[_describe(wanted, request, context) for wanted in request.resources]
    )


def _describe(
    wanted: DescribeConfigsResource, request: DescribeConfigsRequest, context: RequestContext
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        error_message=None,
        resource_type=wanted.resource_type,
        resource_name=wanted.resource_name,
    )
    try:
        resource = config_resource(wanted.resource_type, wanted.resource_name)
        raise_if_config_refused(context, Operation.DESCRIBE_CONFIGS, resource)
        keys = wanted.configuration_keys or None
        if resource.type is ResourceType.BROKER_LOGGER:
            result.configs = _log_levels(resource, keys, context)
        else:
            entries = _entries(resource, keys, context)
            result.configs = [_result(entry, request) for entry in entries]
    except HeadraceError as error:
        result.error_code = error_code(error)
        result.error_message = error_message(error)
    return result


def _entries(
    resource: ConfigResource, keys: Sequence[str] | None, context: RequestContext
) -> Sequence[ConfigEntry]:
    broker = context.broker
    if resource.type is ResourceType.BROKER:
        if not resource.name:
            return describe_broker_defaults(broker.config, keys)
        broker.configurations.raise_if_not_this_broker(resource.name)
        return describe_broker(broker.config, keys)
    if not resource.name:
        raise InvalidRequest(f"a resource of type {resource.type.name} must be named")
    if resource.type is ResourceType.TOPIC:
        raise_if_illegal_topic_name(resource.name)
        topic = broker.topics.get(resource.name)
        if topic is None:
            raise UnknownTopicOrPartition(f"there is no topic {resource.name!r}")
        return describe_topic(topic.overrides, broker.config, keys)
    if resource.type is ResourceType.GROUP:
        return _group_entries(keys, context)
    return ()


def _group_entries(keys: Sequence[str] | None, context: RequestContext) -> list[ConfigEntry]:
    entries = describe_broker(context.broker.config, tuple(_GROUP_OPTIONS))
    return [
        entry._replace(name=_GROUP_OPTIONS[entry.name], read_only=True)
        for entry in entries
        if keys is None or _GROUP_OPTIONS[entry.name] in keys
    ]


def _result(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=SOURCE_CODES[entry.source],
        is_sensitive=entry.is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(synonym.name, synonym.value, SOURCE_CODES[synonym.source])
            for synonym in synonyms
        ],
        config_type=KIND_CODES[entry.kind],
        documentation=entry.documentation if request.include_documentation else None,
    )


def _log_levels(
    resource: ConfigResource, keys: Sequence[str] | None, context: RequestContext
) -> list[DescribeConfigsResourceResult]:
    context.broker.configurations.raise_if_not_this_broker(resource.name)
    return [
        DescribeConfigsResourceResult(
            name=name,
            value=level,
            config_source=BROKER_LOGGER_SOURCE,
            config_type=KIND_CODES[Kind.STRING],
            documentation=None,
        )
        for name, level in log_levels().items()
        if keys is None or name in keys
    ]

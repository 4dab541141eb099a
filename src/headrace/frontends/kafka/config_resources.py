"""What the APIs about configurations share: resources, and the numbers of sources and types."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headrace.config.describe import Source
from headrace.config.option import Kind
from headrace.coordination.metadata.records import ResourceType
from headrace.coordination.metadata.state import ConfigResource
from headrace.frontends.kafka.authorization import (
    raise_if_cluster_refused,
    raise_if_group_refused,
    raise_if_topic_refused,
)
from headrace.model.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.frontends.kafka.context import RequestContext
    from headrace.security.acl import Operation

SOURCE_CODES = {
    Source.DYNAMIC_TOPIC: 1,
    Source.DYNAMIC_BROKER: 2,
    Source.DYNAMIC_DEFAULT_BROKER: 3,
    Source.STATIC_BROKER: 4,
    Source.DEFAULT: 5,
}
BROKER_LOGGER_SOURCE = 6

KIND_CODES = {
    Kind.BOOLEAN: 1,
    Kind.STRING: 2,
    Kind.INT: 3,
    Kind.SHORT: 4,
    Kind.LONG: 5,
    Kind.DOUBLE: 6,
    Kind.LIST: 7,
    Kind.PASSWORD: 9,
}


def config_resource(type_number: int, name: str) -> ConfigResource:
    """InvalidRequest for a type that does not exist."""
    try:
        return ConfigResource(ResourceType(type_number), name)
    except ValueError:
        raise InvalidRequest(f"unknown resource type {type_number}") from None


def raise_if_config_refused(
    context: RequestContext, operation: Operation, resource: ConfigResource
) -> None:
    """Topics and groups have rules of their own; all else belongs to the cluster."""
    if resource.type is ResourceType.TOPIC:
        raise_if_topic_refused(context, operation, resource.name)
    elif resource.type is ResourceType.GROUP:
        raise_if_group_refused(context, operation, resource.name)
    else:
        raise_if_cluster_refused(context, operation)


def repeated_resources(resources: Sequence[tuple[int, str]]) -> set[tuple[int, str]]:
    """Those that a request names more than once: none of them is changed."""
    return {resource for resource, times in Counter(resources).items() if times > 1}

"""ListConfigResources (key 74), versions 0-1.

v0 lists client metrics alone (none are collected here) · v1 any types; no type means all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.list_config_resources import (
    ConfigResource,
    ListConfigResourcesResponse,
)
from headrace.coordination.metadata.records import ResourceType
from headrace.frontends.kafka.authorization import maybe_cluster_refusal
from headrace.frontends.kafka.errors import error_code
from headrace.model.errors import UnsupportedVersion
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.codecs.kafka.generated.list_config_resources import ListConfigResourcesRequest
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 74
VERSIONS = (0, 1)

TYPES_FROM = 1


def handle(
    request: ListConfigResourcesRequest, context: RequestContext
) -> ListConfigResourcesResponse:
    refusal = maybe_cluster_refusal(context, Operation.DESCRIBE_CONFIGS)
    if refusal is not None:
        return ListConfigResourcesResponse(error_code=error_code(refusal))
    if context.version < TYPES_FROM:
        types = [ResourceType.CLIENT_METRICS]
    elif not request.resource_types:
        types = list(ResourceType)
    else:
        try:
            types = [ResourceType(number) for number in dict.fromkeys(request.resource_types)]
        except ValueError:
            return ListConfigResourcesResponse(error_code=error_code(UnsupportedVersion()))
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(name, resource_type)
            for resource_type in types
            for name in _names(resource_type, context)
        ]
    )


def _names(resource_type: ResourceType, context: RequestContext) -> Iterable[str]:
    broker = context.broker
    if resource_type is ResourceType.TOPIC:
        return (topic.name for topic in broker.topics)
    if resource_type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        return (str(broker.cluster.node_id),)
    return broker.store.state.configured(resource_type)

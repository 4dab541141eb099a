"""IncrementalAlterConfigs (key 44), versions 0-1 (KIP-339).

v1 flexible. SET, DELETE, and for lists APPEND and SUBTRACT. Errors are per resource: all changes of
a resource happen, or none. A resource that is named twice is not changed at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from headrace.config.alter import Change, Operation
from headrace.coordination.metadata.records import ResourceType
from headrace.frontends.kafka.config_resources import (
    config_resource,
    raise_if_config_refused,
    repeated_resources,
)
from headrace.frontends.kafka.durable_answer import answer_when_durable
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.frontends.kafka.log_levels import reset_log_level, set_log_level
from headrace.model.errors import HeadraceError, InvalidRequest
from headrace.security import acl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.codecs.kafka.generated.incremental_alter_configs import (
        AlterableConfig,
        AlterConfigsResource,
        IncrementalAlterConfigsRequest,
    )
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 44
VERSIONS = (0, 1)

_OPERATIONS = (Operation.SET, Operation.DELETE, Operation.APPEND, Operation.SUBTRACT)


def handle(
    request: IncrementalAlterConfigsRequest, context: RequestContext
) -> IncrementalAlterConfigsResponse | Pending:
    wanted = {(each.resource_type, each.resource_name): each for each in request.resources}
    repeated = repeated_resources(
        [(each.resource_type, each.resource_name) for each in request.resources]
    )
    results = [
        _alter(resource, context, key in repeated, validate_only=request.validate_only)
        for key, resource in wanted.items()
    ]
    response = IncrementalAlterConfigsResponse(responses=results)
    return answer_when_durable(context, response, results)


def _alter(
    wanted: AlterConfigsResource, context: RequestContext, is_repeated: bool, *, validate_only: bool
) -> AlterConfigsResourceResponse:
    result = AlterConfigsResourceResponse(
        error_message=None,
        resource_type=wanted.resource_type,
        resource_name=wanted.resource_name,
    )
    try:
        if is_repeated:
            raise InvalidRequest("the resource is named more than once")
        resource = config_resource(wanted.resource_type, wanted.resource_name)
        raise_if_config_refused(context, acl.Operation.ALTER_CONFIGS, resource)
        changes = [_change(config) for config in wanted.configs]
        configurations = context.broker.configurations
        if resource.type is ResourceType.BROKER_LOGGER:
            configurations.raise_if_not_this_broker(resource.name)
            _alter_log_levels(changes, validate_only=validate_only)
        else:
            configurations.alter(resource, changes, validate_only=validate_only)
    except HeadraceError as error:
        result.error_code = error_code(error)
        result.error_message = error_message(error)
    return result


def _change(config: AlterableConfig) -> Change:
    if not 0 <= config.config_operation < len(_OPERATIONS):
        raise InvalidRequest(f"{config.name}: unknown operation {config.config_operation}")
    operation = _OPERATIONS[config.config_operation]
    if config.value is None and operation is not Operation.DELETE:
        raise InvalidRequest(f"{config.name}: a value is needed")
    return Change(config.name, operation, config.value)


def _alter_log_levels(changes: Sequence[Change], *, validate_only: bool) -> None:
    """All are checked before the first is changed."""
    for only_check in (True, validate_only):
        for change in changes:
            if change.operation is Operation.SET:
                set_log_level(change.name, change.value or "", validate_only=only_check)
            elif change.operation is Operation.DELETE:
                reset_log_level(change.name, validate_only=only_check)
            else:
                raise InvalidRequest(f"{change.name}: a log level is not a list")

"""AlterConfigs (key 33), versions 0-2.

v2 flexible. The older call: what a request does not name goes back to its default. Errors are per
resource; a resource that is named twice is not changed at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.alter_configs import (
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from headrace.frontends.kafka.config_resources import (
    config_resource,
    raise_if_config_refused,
    repeated_resources,
)
from headrace.frontends.kafka.durable_answer import answer_when_durable
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.model.errors import HeadraceError, InvalidRequest
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.alter_configs import (
        AlterConfigsRequest,
        AlterConfigsResource,
    )
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 33
VERSIONS = (0, 2)


def handle(request: AlterConfigsRequest, context: RequestContext) -> AlterConfigsResponse | Pending:
    wanted = {(each.resource_type, each.resource_name): each for each in request.resources}
    repeated = repeated_resources(
        [(each.resource_type, each.resource_name) for each in request.resources]
    )
    results = [
        _replace(resource, context, key in repeated, validate_only=request.validate_only)
        for key, resource in wanted.items()
    ]
    return answer_when_durable(context, AlterConfigsResponse(responses=results), results)


def _replace(
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
        raise_if_config_refused(context, Operation.ALTER_CONFIGS, resource)
        context.broker.configurations.replace(
            resource, _settings(wanted), validate_only=validate_only
        )
    except HeadraceError as error:
        result.error_code = error_code(error)
        result.error_message = error_message(error)
    return result


def _settings(wanted: AlterConfigsResource) -> dict[str, str]:
    settings: dict[str, str] = {}
    for config in wanted.configs:
        if config.value is None:
            raise InvalidRequest(f"{config.name}: a value is needed")
        if config.name in settings:
            raise InvalidRequest(f"{config.name} is named twice in one request")
        settings[config.name] = config.value
    return settings

"""DescribeClientQuotas (key 48), versions 0-1.

v1 flexible. A filter of several parts must be met in all of them; without ``strict`` an entity may
have further parts. Without any part: all quotas, or with ``strict`` none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.describe_client_quotas import (
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from headrace.frontends.kafka.authorization import raise_if_cluster_refused
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.model.errors import HeadraceError, InvalidRequest
from headrace.quotas.entities import DEFAULT, Default
from headrace.quotas.filters import ANY, filter_of
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.describe_client_quotas import (
        ComponentData,
        DescribeClientQuotasRequest,
    )
    from headrace.frontends.kafka.context import RequestContext
    from headrace.quotas.entities import Name, QuotaEntity
    from headrace.quotas.filters import Any

API_KEY = 48
VERSIONS = (0, 1)

EXACT, DEFAULT_NAME, ANY_NAME = 0, 1, 2


def handle(
    request: DescribeClientQuotasRequest, context: RequestContext
) -> DescribeClientQuotasResponse:
    try:
        raise_if_cluster_refused(context, Operation.DESCRIBE_CONFIGS)
        parts = [(each.entity_type, _wanted(each)) for each in request.components]
        wanted = filter_of(parts, is_strict=request.strict)
    except HeadraceError as error:
        return DescribeClientQuotasResponse(
            error_code=error_code(error), error_message=error_message(error), entries=None
        )
    entries = [
        EntryData(
            _entity(entity), [ValueData(name, value) for name, value in sorted(values.items())]
        )
        for entity, values in context.broker.quotas.describe(wanted)
    ]
    return DescribeClientQuotasResponse(error_message=None, entries=entries)


def _wanted(component: ComponentData) -> Name | Any:
    kind, name = component.match_type, component.match
    if kind == EXACT:
        if name is None:
            raise InvalidRequest("an exact match needs a name")
        return name
    if kind not in (DEFAULT_NAME, ANY_NAME):
        raise InvalidRequest(f"unknown match type {kind}")
    if name is not None:
        raise InvalidRequest(f"match type {kind} takes no name")
    return DEFAULT if kind == DEFAULT_NAME else ANY


def _entity(entity: QuotaEntity) -> list[EntityData]:
    return [
        EntityData(kind, None if isinstance(name, Default) else name)
        for kind, name in entity.parts().items()
    ]

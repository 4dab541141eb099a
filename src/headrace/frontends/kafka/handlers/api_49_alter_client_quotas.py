"""AlterClientQuotas (key 49), versions 0-1.

v1 flexible. Errors are per entity: all of its changes are made, or none. An entity that is named
twice is not changed at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.quotas import QuotaAlteration
from headrace.codecs.kafka.generated.alter_client_quotas import (
    AlterClientQuotasResponse,
    ResponseEntityData,
    ResponseEntryData,
)
from headrace.coordination.metadata.quotas import QuotaChange
from headrace.frontends.kafka.authorization import raise_if_cluster_refused
from headrace.frontends.kafka.durable_answer import answer_when_durable
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.model.errors import HeadraceError, InvalidRequest
from headrace.quotas.entities import DEFAULT, entity_of
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.codecs.kafka.generated.alter_client_quotas import (
        AlterClientQuotasRequest,
        RequestEntryData,
    )
    from headrace.frontends.kafka.context import Pending, RequestContext
    from headrace.quotas.entities import Name, QuotaEntity

API_KEY = 49
VERSIONS = (0, 1)


def handle(
    request: AlterClientQuotasRequest, context: RequestContext
) -> AlterClientQuotasResponse | Pending:
    entries = _distinct(request.entries)
    try:
        raise_if_cluster_refused(context, Operation.ALTER_CONFIGS)
        errors = _alter(request, context)
    except HeadraceError as error:
        return AlterClientQuotasResponse(entries=[_result(entry, error) for entry in entries])
    results = [_result(entry, errors[_key(entry)]) for entry in entries]
    response = AlterClientQuotasResponse(entries=results)
    if request.validate_only:
        return response
    return answer_when_durable(context, response, results)


_Key = tuple[tuple[str, bool, str], ...]


def _key(entry: RequestEntryData) -> _Key:
    """Whom an entry is for, in whatever order its parts came."""
    return tuple(
        sorted(
            (part.entity_type, part.entity_name is None, part.entity_name or "")
            for part in entry.entity
        )
    )


def _distinct(entries: Sequence[RequestEntryData]) -> list[RequestEntryData]:
    return list({_key(entry): entry for entry in entries}.values())


def _alter(
    request: AlterClientQuotasRequest, context: RequestContext
) -> dict[_Key, HeadraceError | None]:
    """What is wrong with each entry; None where nothing is."""
    errors: dict[_Key, HeadraceError | None] = {}
    good: list[tuple[_Key, QuotaAlteration]] = []
    for entry in request.entries:
        try:
            alteration = QuotaAlteration(
                _entity(entry),
                [QuotaChange(op.key, None if op.remove else op.value) for op in entry.ops],
            )
            good.append((_key(entry), alteration))
        except HeadraceError as error:
            errors[_key(entry)] = error
    outcomes = context.broker.quotas.alter(
        [alteration for _, alteration in good], validate_only=request.validate_only
    )
    for (key, _), outcome in zip(good, outcomes, strict=True):
        errors[key] = outcome
    return errors


def _entity(entry: RequestEntryData) -> QuotaEntity:
    parts: dict[str, Name] = {}
    for part in entry.entity:
        if part.entity_type in parts:
            raise InvalidRequest(f"entity type {part.entity_type!r} is given more than once")
        parts[part.entity_type] = DEFAULT if part.entity_name is None else part.entity_name
    return entity_of(parts)


def _result(entry: RequestEntryData, error: HeadraceError | None) -> ResponseEntryData:
    entity = [ResponseEntityData(part.entity_type, part.entity_name) for part in entry.entity]
    if error is None:
        return ResponseEntryData(error_message=None, entity=entity)
    return ResponseEntryData(error_code(error), error_message(error), entity)

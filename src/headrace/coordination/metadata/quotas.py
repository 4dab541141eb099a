"""Decisions about client quotas: the records that make the wanted changes, or why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.coordination.metadata.records import ClientQuotaRecord
from headrace.model.errors import InvalidRequest, LimitReached
from headrace.quotas.limits import ENTITIES_MAX, raise_if_invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.coordination.metadata.records import MetadataRecord
    from headrace.coordination.metadata.state import MetadataState
    from headrace.quotas.entities import QuotaEntity


class QuotaChange(NamedTuple):
    """One quota to be set, or taken away (None)."""

    name: str
    value: float | None


def decide_quotas(
    state: MetadataState, entity: QuotaEntity, changes: Sequence[QuotaChange]
) -> list[MetadataRecord]:
    """All of the changes, or none: InvalidRequest says which one cannot be."""
    names = [change.name for change in changes]
    for name in names:
        if names.count(name) > 1:
            raise InvalidRequest(f"{name} is named more than once")
    for name, value in changes:
        if value is not None:
            raise_if_invalid(entity, name, value)
    current = state.quotas.of_entity(entity)
    is_new = not current and any(value is not None for _, value in changes)
    if is_new and len(state.quotas) >= ENTITIES_MAX:
        raise LimitReached(f"there are quotas for {ENTITIES_MAX} entities already")
    return [
        ClientQuotaRecord(entity, name, value)
        for name, value in changes
        if current.get(name) != value
    ]

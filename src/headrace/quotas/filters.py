"""Which quotas somebody wants to see: by name, by default, or any of a kind.

A filter names parts of an entity. Without ``is_strict`` an entity may have further parts that the
filter does not speak of; with it, it must have exactly these.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.model.errors import InvalidRequest, UnsupportedVersion
from headrace.quotas.entities import IP, KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.quotas.entities import Name, QuotaEntity


class Any(Enum):
    """Stands where a name could: every name, and the default as well."""

    ANY = "any"


ANY: Final = Any.ANY


class EntityFilter(NamedTuple):
    """What each part of an entity must be."""

    parts: Mapping[str, Name | Any]
    is_strict: bool

    def matches(self, entity: QuotaEntity) -> bool:
        found = entity.parts()
        if self.is_strict and found.keys() != self.parts.keys():
            return False
        return all(
            kind in found and (wanted is ANY or found[kind] == wanted)
            for kind, wanted in self.parts.items()
        )


def filter_of(parts: Iterable[tuple[str, Name | Any]], *, is_strict: bool) -> EntityFilter:
    """InvalidRequest if nothing could ever match; UnsupportedVersion for a kind of entity that
    somebody may have invented since."""
    wanted: dict[str, Name | Any] = {}
    for kind, name in parts:
        if not kind:
            raise InvalidRequest("the type of an entity must not be empty")
        if kind in wanted:
            raise InvalidRequest(f"entity type {kind!r} is in the filter more than once")
        if kind not in KINDS:
            raise UnsupportedVersion(f"there are no quotas for entities of type {kind!r}")
        wanted[kind] = name
    if IP in wanted and len(wanted) > 1:
        raise InvalidRequest("a quota for an ip cannot name a user or a client id as well")
    return EntityFilter(wanted, is_strict)

"""All access rules, arranged so that a look-up costs what applies, not what exists.

A name is looked up literally, as the wildcard, and once per *length* that any prefix rule has: a
thousand prefixes of twenty lengths cost twenty look-ups. Below each pattern, rules lie by
principal: a pattern shared by thousands costs two more look-ups, the user and ``User:*``.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headrace.model.errors import LimitReached
from headrace.security.acl import (
    EVERYONE,
    WILDCARD,
    AclBinding,
    AclBindingFilter,
    PatternType,
    Principal,
    ResourceType,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

ACLS_MAX = 100_000

_Rules = dict[AclBinding, None]
"""An insertion-ordered set: descriptions come out in the order of creation."""
_Pattern = tuple[ResourceType, PatternType, str]


class AclIndex:
    """A set of access rules with quick answers to "which of them apply here?"."""

    def __init__(self) -> None:
        self._all: _Rules = {}
        self._by_pattern: dict[_Pattern, dict[Principal, _Rules]] = {}
        self._by_principal: dict[tuple[ResourceType, Principal], _Rules] = {}
        self._prefix_lengths: dict[ResourceType, Counter[int]] = {}

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, binding: AclBinding) -> bool:
        return binding in self._all

    def __iter__(self) -> Iterator[AclBinding]:
        return iter(self._all)

    def add(self, binding: AclBinding) -> bool:
        """Whether the rule is new; InvalidRequest or LimitReached if it cannot be kept."""
        if binding in self._all:
            return False
        binding.raise_if_invalid()
        if len(self._all) >= ACLS_MAX:
            raise LimitReached(f"there are {ACLS_MAX} access rules already")
        self._all[binding] = None
        by_principal = self._by_pattern.setdefault(_pattern_of(binding), {})
        if not by_principal and binding.pattern_type is PatternType.PREFIXED:
            lengths = self._prefix_lengths.setdefault(binding.resource_type, Counter())
            lengths[len(binding.resource_name)] += 1
        by_principal.setdefault(binding.principal, {})[binding] = None
        key = (binding.resource_type, binding.principal)
        self._by_principal.setdefault(key, {})[binding] = None
        return True

    def remove(self, binding: AclBinding) -> bool:
        """Whether the rule was there."""
        if binding not in self._all:
            return False
        del self._all[binding]
        self._remove_pattern(binding)
        key = (binding.resource_type, binding.principal)
        del self._by_principal[key][binding]
        if not self._by_principal[key]:
            del self._by_principal[key]
        return True

    def _remove_pattern(self, binding: AclBinding) -> None:
        pattern = _pattern_of(binding)
        by_principal = self._by_pattern[pattern]
        del by_principal[binding.principal][binding]
        if not by_principal[binding.principal]:
            del by_principal[binding.principal]
        if by_principal:
            return
        del self._by_pattern[pattern]
        if binding.pattern_type is PatternType.PREFIXED:
            lengths = self._prefix_lengths[binding.resource_type]
            lengths[len(binding.resource_name)] -= 1
            lengths += Counter()  # in place: drops the lengths that nobody has any more

    def matching(self, wanted: AclBindingFilter) -> list[AclBinding]:
        """All rules that the filter selects. Reads every rule: for people, not for requests."""
        return [binding for binding in self._all if wanted.matches(binding)]

    def is_covered(self, resource_type: ResourceType, name: str) -> bool:
        """Whether any rule, of whomever, covers this resource."""
        return next(self._covering(resource_type, name), None) is not None

    def applying(
        self, principal: Principal, resource_type: ResourceType, name: str
    ) -> Iterator[AclBinding]:
        """The rules on this resource for the principal or for everyone, whatever their host."""
        for by_principal in self._covering(resource_type, name):
            for who in {principal, EVERYONE}:
                yield from by_principal.get(who, ())

    def of_principal(
        self, principal: Principal, resource_type: ResourceType
    ) -> Iterator[AclBinding]:
        """The rules on any resource of this type for the principal or for everyone."""
        for who in {principal, EVERYONE}:
            yield from self._by_principal.get((resource_type, who), ())

    def _covering(
        self, resource_type: ResourceType, name: str
    ) -> Iterator[dict[Principal, _Rules]]:
        find = self._by_pattern.get
        for literal in {name, WILDCARD}:
            if found := find((resource_type, PatternType.LITERAL, literal)):
                yield found
        for length in self._prefix_lengths.get(resource_type, ()):
            if length <= len(name) and (
                found := find((resource_type, PatternType.PREFIXED, name[:length]))
            ):
                yield found


def _pattern_of(binding: AclBinding) -> _Pattern:
    return binding.resource_type, binding.pattern_type, binding.resource_name

"""May this principal, from this host, do this to that resource? Kafka's answer, quickly.

A rule that denies beats any that allow. Allowing to read, write, delete or alter also allows to
describe; denying them does not deny that. Where no rule covers a resource at all,
``allow_everyone_if_no_acl_found`` decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.security.acl import (
    WILDCARD,
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    Principal,
    ResourceType,
)
from headrace.security.acl_index import AclIndex

if TYPE_CHECKING:
    from collections.abc import Iterable

DECISIONS_KEPT_MAX = 65_536
"""Decisions remembered between two changes of the rules; all are forgotten when it is reached."""

_ALLOWED_BY: dict[Operation, frozenset[Operation]] = {
    operation: frozenset({operation, Operation.ALL}) for operation in Operation
}
_ALLOWED_BY[Operation.DESCRIBE] |= {
    Operation.READ,
    Operation.WRITE,
    Operation.DELETE,
    Operation.ALTER,
}
_ALLOWED_BY[Operation.DESCRIBE_CONFIGS] |= {Operation.ALTER_CONFIGS}

_SOME_NAME = "hardcode"
"""Kafka asks about a resource of this name to learn whether anything goes for a principal."""

OPERATIONS_OF: dict[ResourceType, tuple[Operation, ...]] = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
    ResourceType.TRANSACTIONAL_ID: (
        Operation.WRITE,
        Operation.DESCRIBE,
        Operation.TWO_PHASE_COMMIT,
    ),
}
"""What can be done to each type of resource, for answers that list authorised operations."""

_Question = tuple[Principal, str, Operation, ResourceType, str | None]


class Authorizer:
    """Holds the rules and answers; every change of the rules goes through it."""

    def __init__(
        self,
        *,
        super_users: Iterable[Principal] = (),
        allow_everyone_if_no_acl_found: bool = False,
    ) -> None:
        self._index = AclIndex()
        self._super_users = frozenset(super_users)
        self._allow_everyone_if_no_acl_found = allow_everyone_if_no_acl_found
        self._decisions: dict[_Question, bool] = {}

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, binding: AclBinding) -> bool:
        return binding in self._index

    def add(self, binding: AclBinding) -> bool:
        """Whether the rule is new; InvalidRequest or LimitReached if it cannot be kept."""
        self._decisions.clear()
        return self._index.add(binding)

    def remove(self, binding: AclBinding) -> bool:
        """Whether the rule was there."""
        self._decisions.clear()
        return self._index.remove(binding)

    def matching(self, wanted: AclBindingFilter) -> list[AclBinding]:
        """All rules that the filter selects."""
        return self._index.matching(wanted)

    def authorize(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
    ) -> bool:
        """Whether the operation on the one resource of this name is allowed."""
        question = (principal, host, operation, resource_type, name)
        decision = self._decisions.get(question)
        if decision is None:
            decision = self._remember(question, self._decide(question, name))
        return decision

    def authorize_by_resource_type(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Whether there can be a resource of this type on which the operation is allowed."""
        question = (principal, host, operation, resource_type, None)
        decision = self._decisions.get(question)
        if decision is None:
            decision = self.authorize(
                principal, host, operation, resource_type, _SOME_NAME
            ) or self._is_allowed_somewhere(principal, host, operation, resource_type)
            self._remember(question, decision)
        return decision

    def authorized_operations(
        self, principal: Principal, host: str, resource_type: ResourceType, name: str
    ) -> int:
        """The allowed operations as a bit field, one bit per code, as Metadata answers have it."""
        return sum(
            1 << operation
            for operation in OPERATIONS_OF.get(resource_type, ())
            if self.authorize(principal, host, operation, resource_type, name)
        )

    def _remember(self, question: _Question, decision: bool) -> bool:
        if len(self._decisions) >= DECISIONS_KEPT_MAX:
            self._decisions.clear()
        self._decisions[question] = decision
        return decision

    def _decide(self, question: _Question, name: str) -> bool:
        principal, host, operation, resource_type, _ = question
        if principal in self._super_users:
            return True
        is_allowed = False
        for rule in self._index.applying(principal, resource_type, name):
            if rule.host not in (WILDCARD, host):
                continue
            if rule.permission is Permission.DENY:
                if rule.operation in (operation, Operation.ALL):
                    return False
            elif rule.operation in _ALLOWED_BY[operation]:
                is_allowed = True
        if is_allowed or not self._allow_everyone_if_no_acl_found:
            return is_allowed
        return not self._index.is_covered(resource_type, name)

    def _is_allowed_somewhere(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Whether some pattern allows it and no pattern that covers all of that one denies it."""
        denied: set[tuple[PatternType, str]] = set()
        allowed: set[tuple[PatternType, str]] = set()
        for rule in self._index.of_principal(principal, resource_type):
            # Implied operations do not count here, nor do they in Kafka.
            if rule.host in (WILDCARD, host) and rule.operation in (operation, Operation.ALL):
                patterns = denied if rule.permission is Permission.DENY else allowed
                patterns.add((rule.pattern_type, rule.resource_name))
        everything = (PatternType.LITERAL, WILDCARD)
        if everything in denied:
            return False
        return everything in allowed or not all(
            _is_dominated(pattern, denied) for pattern in allowed
        )


def _is_dominated(pattern: tuple[PatternType, str], denied: set[tuple[PatternType, str]]) -> bool:
    pattern_type, name = pattern
    if pattern_type is PatternType.LITERAL and pattern in denied:
        return True
    return any(
        denied_type is PatternType.PREFIXED and name.startswith(prefix)
        for denied_type, prefix in denied
    )

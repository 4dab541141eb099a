"""Access rules as Kafka has them: who (principal, host) may or must not do what to which resources.

The numbers of the enumerations are Kafka's codes, on the wire and in the metadata log alike. ANY
and MATCH only make sense in a filter, UNKNOWN nowhere.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from headrace.model.errors import InvalidRequest

WILDCARD = "*"
"""As a host: every host. As the name of a literal pattern: every resource of that type."""
CLUSTER_NAME = "kafka-cluster"
FIELD_LENGTH_MAX = 4_096
"""Characters that a resource name, a principal or a host of a stored rule may have."""


class ResourceType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


_NOT_STORABLE = (0, 1)
"""UNKNOWN and ANY have the same codes in all four enumerations."""


class Principal(NamedTuple):
    """Who acts: a kind, in practice always ``User``, and a name."""

    kind: str
    name: str

    @classmethod
    def user(cls, name: str) -> Principal:
        return cls("User", name)

    @classmethod
    def parse(cls, text: str) -> Principal:
        """From ``User:alice``; the name may contain further colons."""
        kind, colon, name = text.partition(":")
        if not (kind and colon and name):
            raise InvalidRequest(f"a principal is written KIND:NAME, but this is {text!r}")
        return cls(kind, name)

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


ANONYMOUS = Principal.user("ANONYMOUS")
EVERYONE = Principal.user(WILDCARD)


class AclBinding(NamedTuple):
    """One access rule."""

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType
    principal: Principal
    host: str
    operation: Operation
    permission: Permission

    def covers(self, name: str) -> bool:
        """Whether the resource of this name, and of the rule's type, falls under the rule."""
        if self.pattern_type is PatternType.PREFIXED:
            return name.startswith(self.resource_name)
        return self.resource_name in (name, WILDCARD)

    def raise_if_invalid(self) -> None:
        """Raise InvalidRequest unless the rule may be stored."""
        for field in (self.resource_type, self.pattern_type, self.operation, self.permission):
            if field in _NOT_STORABLE:
                raise InvalidRequest(f"{type(field).__name__} {field.name} is not for a rule")
        if self.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
            raise InvalidRequest(f"pattern type {self.pattern_type.name} is for filters only")
        if not self.resource_name:
            raise InvalidRequest("the resource name of a rule must not be empty")
        if self.resource_type is ResourceType.CLUSTER and self.resource_name != CLUSTER_NAME:
            raise InvalidRequest(f"the only name of the cluster resource is {CLUSTER_NAME!r}")
        if not (self.principal.kind and self.principal.name and self.host):
            raise InvalidRequest("a rule needs a principal and a host")
        for text in (self.resource_name, str(self.principal), self.host):
            if len(text) > FIELD_LENGTH_MAX:
                raise InvalidRequest(f"a field of the rule exceeds {FIELD_LENGTH_MAX} characters")


class AclBindingFilter(NamedTuple):
    """Which rules to describe or delete; None and ANY leave a field open."""

    resource_type: ResourceType = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY

    def raise_if_invalid(self) -> None:
        """Raise InvalidRequest for codes that this version does not know."""
        for field in (self.resource_type, self.pattern_type, self.operation, self.permission):
            if field == 0:
                raise InvalidRequest(f"the filter's {type(field).__name__} is unknown")

    def matches(self, binding: AclBinding) -> bool:
        return (
            self.resource_type in (ResourceType.ANY, binding.resource_type)
            and self.operation in (Operation.ANY, binding.operation)
            and self.permission in (Permission.ANY, binding.permission)
            and self.host in (None, binding.host)
            and (self.principal is None or self.principal == str(binding.principal))
            and self._matches_pattern(binding)
        )

    def _matches_pattern(self, binding: AclBinding) -> bool:
        if self.pattern_type is PatternType.MATCH:
            # MATCH asks the other way round: which rules apply to a resource of this name?
            return self.resource_name is None or binding.covers(self.resource_name)
        return self.pattern_type in (
            PatternType.ANY,
            binding.pattern_type,
        ) and self.resource_name in (None, binding.resource_name)

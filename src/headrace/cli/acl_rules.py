"""From the options of ``headrace acl`` to access rules and filters; nothing here asks a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.cli.exit_codes import ExitCode, Failure
from headrace.model.errors import InvalidRequest
from headrace.security.acl import (
    CLUSTER_NAME,
    WILDCARD,
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    Principal,
    ResourceType,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_NOT_FOR_RULES = (Operation.UNKNOWN, Operation.ANY)

PRODUCER_RIGHTS = {
    ResourceType.TOPIC: (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE),
    ResourceType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE),
}
CONSUMER_RIGHTS = {
    ResourceType.TOPIC: (Operation.READ, Operation.DESCRIBE),
    ResourceType.GROUP: (Operation.READ,),
}


class Resource(NamedTuple):
    """What rules are about: a kind and a name."""

    type: ResourceType
    name: str


class Subjects(NamedTuple):
    """Whom rules are about, and from which hosts."""

    allowed: Sequence[str] = ()
    denied: Sequence[str] = ()
    hosts: Sequence[str] = ()


def named_resources(
    topics: Iterable[str], groups: Iterable[str], transactional_ids: Iterable[str], *, cluster: bool
) -> list[Resource]:
    """All that the options name."""
    resources = [Resource(ResourceType.TOPIC, name) for name in topics]
    resources += (Resource(ResourceType.GROUP, name) for name in groups)
    resources += (Resource(ResourceType.TRANSACTIONAL_ID, name) for name in transactional_ids)
    if cluster:
        resources.append(Resource(ResourceType.CLUSTER, CLUSTER_NAME))
    return resources


def parse_operation(text: str) -> Operation:
    """From ``read``, ``DescribeConfigs`` or ``describe-configs``."""
    for operation in Operation:
        if operation not in _NOT_FOR_RULES and _bare(text) == _bare(operation.name):
            return operation
    known = ", ".join(word(each) for each in Operation if each not in _NOT_FOR_RULES)
    raise Failure(f"there is no operation {text!r}; expected one of {known}", ExitCode.USAGE)


def _bare(text: str) -> str:
    return text.replace("-", "").replace("_", "").lower()


def word(member: Operation | Permission | PatternType | ResourceType) -> str:
    """An enumeration's member as people write it."""
    return member.name.lower().replace("_", "-")


def rules(
    resources: Sequence[Resource],
    subjects: Subjects,
    operations: Sequence[Operation],
    pattern: PatternType,
    *,
    producer: bool = False,
    consumer: bool = False,
) -> list[AclBinding]:
    """One rule for each combination; Failure where they make no sense."""
    if not (subjects.allowed or subjects.denied):
        raise Failure("pass --allow-principal or --deny-principal", ExitCode.USAGE)
    if not resources:
        raise Failure("pass --topic, --group, --transactional-id or --cluster", ExitCode.USAGE)
    if (producer or consumer) and (operations or subjects.denied):
        raise Failure(
            "--producer and --consumer name the operations themselves, and only allow",
            ExitCode.USAGE,
        )
    pairs = list(_pairs(resources, operations, producer=producer, consumer=consumer))
    made = [
        AclBinding(
            resource.type,
            resource.name,
            PatternType.LITERAL if resource.type is ResourceType.CLUSTER else pattern,
            principal,
            host,
            operation,
            permission,
        )
        for principal, permission in _principals(subjects)
        for host in subjects.hosts or (WILDCARD,)
        for resource, operation in pairs
    ]
    for binding in made:
        _raise_if_invalid(binding)
    return list(dict.fromkeys(made))


def _pairs(
    resources: Sequence[Resource],
    operations: Sequence[Operation],
    *,
    producer: bool,
    consumer: bool,
) -> Iterator[tuple[Resource, Operation]]:
    if not (producer or consumer):
        for resource in resources:
            for operation in operations or (Operation.ALL,):
                yield resource, operation
        return
    for is_wanted, rights in ((producer, PRODUCER_RIGHTS), (consumer, CONSUMER_RIGHTS)):
        if is_wanted and not any(each.type in rights for each in resources):
            raise Failure("--producer and --consumer need a --topic", ExitCode.USAGE)
        for resource in resources if is_wanted else ():
            for operation in rights.get(resource.type, ()):
                yield resource, operation


def _principals(subjects: Subjects) -> Iterator[tuple[Principal, Permission]]:
    for text in subjects.allowed:
        yield _parse_principal(text), Permission.ALLOW
    for text in subjects.denied:
        yield _parse_principal(text), Permission.DENY


def _parse_principal(text: str) -> Principal:
    try:
        return Principal.parse(text)
    except InvalidRequest as error:
        raise Failure(f"{error.message}; for example User:alice", ExitCode.USAGE) from error


def _raise_if_invalid(binding: AclBinding) -> None:
    try:
        binding.raise_if_invalid()
    except InvalidRequest as error:
        raise Failure(error.message, ExitCode.USAGE) from error


def filters(
    resources: Sequence[Resource],
    principals: Sequence[str],
    operations: Sequence[Operation],
    pattern: PatternType,
) -> list[AclBindingFilter]:
    """One filter for each combination; what is not given is left open."""
    return [
        AclBindingFilter(
            ResourceType.ANY if resource is None else resource.type,
            None if resource is None else resource.name,
            pattern,
            None if principal is None else str(_parse_principal(principal)),
            None,
            operation,
        )
        for resource in resources or (None,)
        for principal in principals or (None,)
        for operation in operations or (Operation.ANY,)
    ]


def row(binding: AclBinding) -> dict[str, object]:
    """One rule as it is printed."""
    return {
        "resource": word(binding.resource_type),
        "name": binding.resource_name,
        "pattern": word(binding.pattern_type),
        "principal": str(binding.principal),
        "host": binding.host,
        "operation": word(binding.operation),
        "permission": word(binding.permission),
    }

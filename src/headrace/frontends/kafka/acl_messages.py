"""What the APIs about access rules share: numbers and text of messages <-> rules and filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.model.errors import InvalidRequest, SecurityDisabled
from headrace.security.acl import (
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    Principal,
    ResourceType,
)

if TYPE_CHECKING:
    from headrace.broker.access import AccessControl
    from headrace.codecs.kafka.generated.create_acls import AclCreation
    from headrace.codecs.kafka.generated.delete_acls import DeleteAclsFilter
    from headrace.codecs.kafka.generated.describe_acls import DescribeAclsRequest
    from headrace.frontends.kafka.context import RequestContext


def known_access(context: RequestContext) -> AccessControl:
    """SecurityDisabled if no authorizer is configured."""
    access = context.broker.access
    if access is None:
        raise SecurityDisabled("no authorizer is configured (authorizer.class.name)")
    return access


def binding_of(creation: AclCreation) -> AclBinding:
    """InvalidRequest for codes that do not exist, and for rules that may not be stored."""
    try:
        binding = AclBinding(
            ResourceType(creation.resource_type),
            creation.resource_name,
            PatternType(creation.resource_pattern_type),
            Principal.parse(creation.principal),
            creation.host,
            Operation(creation.operation),
            Permission(creation.permission_type),
        )
    except ValueError as error:
        raise InvalidRequest(f"the rule has an unknown code: {error}") from error
    binding.raise_if_invalid()
    return binding


def filter_of(wanted: DescribeAclsRequest | DeleteAclsFilter) -> AclBindingFilter:
    """InvalidRequest for codes that do not exist."""
    try:
        found = AclBindingFilter(
            ResourceType(wanted.resource_type_filter),
            wanted.resource_name_filter,
            PatternType(wanted.pattern_type_filter),
            wanted.principal_filter,
            wanted.host_filter,
            Operation(wanted.operation),
            Permission(wanted.permission_type),
        )
    except ValueError as error:
        raise InvalidRequest(f"the filter has an unknown code: {error}") from error
    found.raise_if_invalid()
    return found

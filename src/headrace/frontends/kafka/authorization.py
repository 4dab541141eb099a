"""Refusals: the error for somebody who may not do what was asked, one class per kind of resource.

An error is the same whether the resource exists or not. Answers that list things leave out what may
not be described, by ``context.allows``, and refuse nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.model.errors import (
    ClusterAuthorizationFailed,
    GroupAuthorizationFailed,
    TopicAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
)
from headrace.security.acl import CLUSTER_NAME, Operation, ResourceType

if TYPE_CHECKING:
    from headrace.frontends.kafka.context import RequestContext
    from headrace.model.errors import AuthorizationFailed

_ERRORS: dict[ResourceType, type[AuthorizationFailed]] = {
    ResourceType.TOPIC: TopicAuthorizationFailed,
    ResourceType.GROUP: GroupAuthorizationFailed,
    ResourceType.CLUSTER: ClusterAuthorizationFailed,
    ResourceType.TRANSACTIONAL_ID: TransactionalIdAuthorizationFailed,
}


def maybe_refusal(
    context: RequestContext, operation: Operation, resource_type: ResourceType, name: str
) -> AuthorizationFailed | None:
    """The error to answer with, or None if the one who asks may do this."""
    if context.allows(operation, resource_type, name):
        return None
    access = context.broker.access
    assert access is not None, "without access control everything is allowed"
    access.note_denial(context.principal, context.host, operation, resource_type, name)
    return _ERRORS[resource_type](f"{context.principal} may not do this")


def maybe_topic_refusal(
    context: RequestContext, operation: Operation, name: str
) -> AuthorizationFailed | None:
    return maybe_refusal(context, operation, ResourceType.TOPIC, name)


def maybe_group_refusal(
    context: RequestContext, operation: Operation, group_id: str
) -> AuthorizationFailed | None:
    return maybe_refusal(context, operation, ResourceType.GROUP, group_id)


def maybe_cluster_refusal(
    context: RequestContext, operation: Operation
) -> AuthorizationFailed | None:
    return maybe_refusal(context, operation, ResourceType.CLUSTER, CLUSTER_NAME)


def raise_if_topic_refused(context: RequestContext, operation: Operation, name: str) -> None:
    _raise(maybe_topic_refusal(context, operation, name))


def raise_if_group_refused(context: RequestContext, operation: Operation, group_id: str) -> None:
    _raise(maybe_group_refusal(context, operation, group_id))


def raise_if_cluster_refused(context: RequestContext, operation: Operation) -> None:
    _raise(maybe_cluster_refusal(context, operation))


def raise_if_transactional_id_refused(
    context: RequestContext, operation: Operation, transactional_id: str
) -> None:
    _raise(maybe_refusal(context, operation, ResourceType.TRANSACTIONAL_ID, transactional_id))


def raise_if_creation_refused(context: RequestContext, name: str) -> None:
    """Either right is enough: to create any topic, or to create this one."""
    if not context.allows(Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME):
        raise_if_topic_refused(context, Operation.CREATE, name)


def _raise(refusal: AuthorizationFailed | None) -> None:
    if refusal is not None:
        raise refusal

"""Who may use the registry, where the broker has access rules.

The schemas are a topic, so they are guarded as one: whoever may read ``_schemas`` may ask anything,
whoever may write it may change anything. It is asked before a subject is looked for, so a refusal
tells nothing about what there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.schema_store import SCHEMAS_TOPIC
from headrace.frontends.http.gate import host_of, principal_of
from headrace.model.errors import TopicAuthorizationFailed
from headrace.security.acl import Operation, ResourceType

if TYPE_CHECKING:
    from starlette.types import Scope

    from headrace.broker.access import AccessControl

LOOK_UP_PATH = "/subjects/{subject}"
COMPARISON_PREFIX = "/compatibility/"
"""A schema is too long for a URL, so these two are asked by POST, and change nothing."""


def operation_of(method: str, path: str) -> Operation:
    """What a request to the route of this path does to the topic."""
    is_asked_by_post = path == LOOK_UP_PATH or path.startswith(COMPARISON_PREFIX)
    if method in ("GET", "HEAD") or (method == "POST" and is_asked_by_post):
        return Operation.READ
    return Operation.WRITE


def raise_if_denied(access: AccessControl | None, scope: Scope, operation: Operation) -> None:
    """TopicAuthorizationFailed if a rule, or the lack of one, stands against it."""
    if access is None:
        return
    who = (principal_of(scope), host_of(scope), operation, ResourceType.TOPIC, SCHEMAS_TOPIC)
    if not access.authorize(*who):
        access.note_denial(*who)
        raise TopicAuthorizationFailed(
            f"User is denied operation {operation.name.title()} on the schemas"
        )

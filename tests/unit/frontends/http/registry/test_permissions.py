"""Which right each route of the registry asks for."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.frontends.http.gate import PRINCIPAL
from headrace.frontends.http.registry.application import table
from headrace.frontends.http.registry.permissions import operation_of, raise_if_denied
from headrace.model.errors import TopicAuthorizationFailed
from headrace.security.acl import ANONYMOUS, Operation, Principal, ResourceType

CHANGES = {
    ("DELETE", "/subjects/{subject}"),
    ("POST", "/subjects/{subject}/versions"),
    ("DELETE", "/subjects/{subject}/versions/{version}"),
    ("PUT", "/config"),
    ("DELETE", "/config"),
    ("PUT", "/config/{subject}"),
    ("DELETE", "/config/{subject}"),
    ("PUT", "/mode"),
    ("PUT", "/mode/{subject}"),
    ("DELETE", "/mode/{subject}"),
}


class Access:
    """Allows reading to alice, and notes what it denies."""

    def __init__(self) -> None:
        self.denied: list[Any] = []

    def authorize(self, principal: Principal, *what: Any) -> bool:
        allowed = ("10.0.0.7", Operation.READ, ResourceType.TOPIC, "_schemas")
        return principal == Principal.user("alice") and what == allowed

    def note_denial(self, *denial: Any) -> None:
        self.denied.append(denial)


def test_whatever_changes_something_is_a_write() -> None:
    routes = {(method, path) for path, methods in table(None).items() for method in methods}  # type: ignore[arg-type]
    writes = {each for each in routes if operation_of(*each) is Operation.WRITE}
    assert writes == CHANGES
    assert {operation_of(*each) for each in routes - writes} == {Operation.READ}


@pytest.mark.parametrize(
    ("principal", "operation", "is_allowed"),
    [
        (Principal.user("alice"), Operation.READ, True),
        (Principal.user("alice"), Operation.WRITE, False),
        (Principal.user("bob"), Operation.READ, False),
        (None, Operation.READ, False),
    ],
)
def test_rules_of_the_topic_decide(
    principal: Principal | None, operation: Operation, is_allowed: bool
) -> None:
    access, scope = Access(), {PRINCIPAL: principal, "client": ("10.0.0.7", 5)}
    if principal is None:
        del scope[PRINCIPAL]
    if is_allowed:
        raise_if_denied(access, scope, operation)  # type: ignore[arg-type]
        assert access.denied == []
        return
    with pytest.raises(TopicAuthorizationFailed):
        raise_if_denied(access, scope, operation)  # type: ignore[arg-type]
    who = principal or ANONYMOUS
    assert access.denied == [(who, "10.0.0.7", operation, ResourceType.TOPIC, "_schemas")]


def test_without_an_authorizer_everything_is_allowed() -> None:
    raise_if_denied(None, {}, Operation.WRITE)
    with pytest.raises(TopicAuthorizationFailed):
        raise_if_denied(Access(), {}, Operation.WRITE)  # type: ignore[arg-type]

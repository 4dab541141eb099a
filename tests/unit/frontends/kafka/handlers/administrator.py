"""A context for handlers of administration: with features, and with rights given or withheld."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from headrace.broker.features import Features
from headrace.frontends.kafka.context import Pending
from headrace.security.acl import Principal

if TYPE_CHECKING:
    from headrace.security.acl import Operation, ResourceType
    from headrace.testing.metadata_bench import MetadataBench

CLUSTER_AUTHORIZATION_FAILED = 31


class Administrator:
    """Asks a handler; ``asked`` has every right that the handler looked for."""

    def __init__(self, bench: MetadataBench, *, is_allowed: bool = True) -> None:
        self.bench = bench
        self.is_allowed = is_allowed
        self.asked: list[tuple[Operation, ResourceType, str]] = []

    def ask(self, handle: Any, version: int, request: Any) -> Any:
        """The answer, also where it comes later."""
        answer = handle(request, self.context(version))
        if not isinstance(answer, Pending):
            return answer
        answers: list[Any] = []
        answer.attach(answers.append)
        self.bench.settle()
        (told,) = answers
        return told

    def context(self, version: int) -> Any:
        context = self.bench.context(version)
        context.broker.features = Features(self.bench.store)
        context.broker.access = SimpleNamespace(note_denial=lambda *_: None)
        context.principal, context.host = Principal.user("eve"), "127.0.0.1"
        context.allows = self._allows
        return context

    def _allows(self, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        self.asked.append((operation, resource_type, name))
        return self.is_allowed

"""The door to groups over a simulated disk, and Kafka handlers called through their codecs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.broker.groups import Groups
from headrace.codecs.kafka.messages import (
    request_decoder,
    request_encoder,
    response_decoder,
    response_encoder,
)
from headrace.frontends.kafka.context import Pending
from headrace.testing.metadata_bench import MetadataBench

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

SETTINGS = {"offsets.topic.num.partitions": "4", "group.initial.rebalance.delay.ms": "0"}


class GroupDoor:
    """``call`` sends a request as a client would; an answer that is not there yet is None."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self.bench = MetadataBench({**SETTINGS, **(settings or {})})
        self.transactions: Any = None
        """What handlers find in the broker's place of it."""
        self.open()

    def open(self) -> None:
        bench = self.bench
        self.groups = Groups(
            bench.topics,
            bench.changes,
            bench.logs,
            bench.configurations,
            bench.clock,
            bench.background,
            bench.chance,
        )
        self.groups.start()

    def restart(self) -> None:
        """Stop cleanly and start again."""
        self.groups.close()
        self.bench.restart()
        self.open()

    def pass_seconds(self, seconds: float) -> None:
        self.bench.background.advance(seconds)

    def ask(self, group_id: str, command: Any) -> Any:
        """Ask the door itself; the reply must come at once."""
        replies: list[Any] = []
        self.groups.submit(group_id, command, replies.append)
        assert len(replies) == 1, "the request is still waiting"
        return replies[0]

    def call(self, handler: ModuleType, request: Any, version: int) -> Any:
        """The response as the client decodes it."""
        return self.send(handler, request, version).response

    def context(self, version: int) -> Any:
        """What the handler gets beside its request."""
        context = self.bench.context(version)
        context.broker.groups = self.groups
        context.broker.transactions = self.transactions
        context.client_id, context.host = "client", "127.0.0.1"
        return context

    def send(self, handler: ModuleType, request: Any, version: int) -> Call:
        """For requests that have to wait: ``response`` is None until it comes."""
        context = self.context(version)
        key = handler.API_KEY
        decoded = _through(request_encoder(key, version), request_decoder(key, version), request)
        call = Call(key, version)
        answer = handler.handle(decoded, context)
        if isinstance(answer, Pending):
            answer.attach(call.deliver)
        else:
            call.deliver(answer)
        return call


class Call:
    """A request under way."""

    def __init__(self, key: int, version: int) -> None:
        self._codecs = response_encoder(key, version), response_decoder(key, version)
        self.response: Any = None

    def deliver(self, response: Any) -> None:
        self.response = _through(*self._codecs, response)


def _through(encode: Any, decode: Any, message: Any) -> Any:
    """Over the wire and back: what the version does not carry is lost."""
    chunks: list[Any] = []
    encode(message, chunks)
    data = b"".join(bytes(chunk) for chunk in chunks)
    decoded, end = decode(data, 0)
    assert end == len(data)
    return decoded

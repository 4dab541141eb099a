"""What a handler is given beside the request, and how it answers later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.broker.broker import Broker
    from headrace.frontends.kafka.listener import AdvertisedAddress
    from headrace.frontends.kafka.session import Session
    from headrace.security.acl import Operation, Principal, ResourceType


class RequestContext:
    """Who asks, by which version. Shared by the equal requests of a connection: read only."""

    __slots__ = (
        "api_key",
        "broker",
        "client_id",
        "host",
        "listener",
        "principal",
        "session",
        "version",
    )

    def __init__(
        self, session: Session, broker: Broker, api_key: int, version: int, client_id: str | None
    ) -> None:
        self.session = session
        self.broker = broker
        self.api_key = api_key
        self.version = version
        self.client_id = client_id
        self.host: str = session.peer_host
        self.listener: AdvertisedAddress = session.advertised
        self.principal: Principal = session.principal

    def allows(self, operation: Operation, resource_type: ResourceType, name: str) -> bool:
        """Whether the one who asks may do this to that resource."""
        access = self.broker.access
        return access is None or access.authorize(
            self.principal, self.host, operation, resource_type, name
        )

    def allows_some(self, operation: Operation, resource_type: ResourceType) -> bool:
        """Whether there can be a resource of this type to which the one who asks may do this."""
        access = self.broker.access
        return access is None or access.authorize_by_resource_type(
            self.principal, self.host, operation, resource_type
        )


class Pending:
    """An answer that comes later. The answers behind it on the connection wait for it.

    ``on_close`` is called if the connection ends first, so that whoever was to complete it can
    forget it.
    """

    __slots__ = ("_deliver", "early", "is_complete", "on_close")

    def __init__(self, on_close: Callable[[], None] | None = None) -> None:
        self.is_complete = False
        self.on_close = on_close
        self.early: Any = None
        """The answer, if it came before anybody was attached."""
        self._deliver: Callable[[Any], None] | None = None

    def complete(self, response: Any) -> None:
        """Give the answer; ``None`` sends nothing. A second call is a fault of ours."""
        assert not self.is_complete, "a pending answer is given once"
        self.is_complete = True
        self.on_close = None  # whoever completed us refers to us: no cycle for the collector
        if self._deliver is None:
            self.early = response  # completed before the session heard of it
        else:
            self._deliver(response)

    def attach(self, deliver: Callable[[Any], None]) -> None:
        """Called by the session: where the answer goes."""
        self._deliver = deliver
        if self.is_complete:
            deliver(self.early)

    def connection_closed(self) -> None:
        """Called by the session: nobody will read the answer."""
        self._deliver = _discard
        if not self.is_complete and self.on_close is not None:
            self.on_close()


def _discard(response: Any) -> None:
    """The peer is gone: its answer has nowhere to go."""

"""What a quota does to a connection: the answer at once, and then silence (KIP-219)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from headrace.codecs.kafka.generated.api_versions import ApiVersionsRequest
from headrace.frontends.kafka import routes
from headrace.frontends.kafka.handlers import api_18_api_versions
from headrace.frontends.kafka.incoming import MUTE_MS_MAX
from headrace.testing import Broker
from tests.wire.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator

API_VERSIONS = 18
SOFTWARE = ApiVersionsRequest(client_software_name="raw", client_software_version="1")
MUTED_MS = 200
PATIENCE_SECONDS = 5


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    with RawClient(broker.port) as client:
        yield client


def mute(broker: Broker, throttle_ms: int) -> None:
    def one(server: Any) -> None:
        ((_, door),) = server._listeners
        (session,) = door.sessions
        session.mute(throttle_ms)

    broker.call(one)


def ask(client: RawClient) -> float:
    """Seconds until the answer."""
    started = time.monotonic()
    assert client.call(API_VERSIONS, 3, SOFTWARE).error_code == 0
    return time.monotonic() - started


def test_nothing_is_read_for_so_long(broker: Broker, client: RawClient):
    ask(client)
    mute(broker, MUTED_MS)
    assert ask(client) >= MUTED_MS / 1000 * 0.8
    assert ask(client) < MUTED_MS / 1000


def test_longer_silence_wins_over_a_shorter_one(broker: Broker, client: RawClient):
    ask(client)
    mute(broker, MUTED_MS)
    mute(broker, 1)
    mute(broker, 0)
    mute(broker, -1)
    assert ask(client) >= MUTED_MS / 1000 * 0.8


def test_others_are_not_muted(broker: Broker, client: RawClient):
    ask(client)
    mute(broker, 60_000)
    with RawClient(broker.port) as other:
        assert ask(other) < 1


def test_request_that_mutes_is_answered_and_those_behind_it_wait(
    broker: Broker, client: RawClient, monkeypatch
):
    served = api_18_api_versions.handle

    def handle(request: Any, context: Any) -> Any:
        context.session.mute(MUTED_MS)
        return served(request, context)

    route = routes.route_of(API_VERSIONS, 3)
    assert route is not None
    monkeypatch.setitem(routes._routes, API_VERSIONS << 16 | 3, route._replace(handle=handle))
    started = time.monotonic()
    client.socket.sendall(client.frame(API_VERSIONS, 3, SOFTWARE) * 3)
    times = []
    for _ in range(3):
        client.receive(API_VERSIONS, 3)
        times.append(time.monotonic() - started)
    assert times[0] < MUTED_MS / 1000 / 2
    assert times[1] >= MUTED_MS / 1000 * 0.8
    assert times[2] >= 2 * MUTED_MS / 1000 * 0.8


def test_silence_is_bounded_and_ends_with_the_connection(broker: Broker, client: RawClient):
    ask(client)
    mute(broker, 10**12)

    def look(server: Any) -> float:
        ((_, door),) = server._listeners
        (session,) = door.sessions
        return session._muted_until - session._loop.time()

    assert broker.call(look) <= MUTE_MS_MAX / 1000
    broker.call(lambda server: [s.close() for s in server._listeners[0][1].sessions])
    assert client.is_closed_by_peer()

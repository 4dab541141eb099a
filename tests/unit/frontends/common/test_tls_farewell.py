"""The end of a connection that was refused: the alert first, no reset, and not for ever."""

from __future__ import annotations

import asyncio
import socket

import pytest

from headrace.frontends.common import tls_farewell
from headrace.frontends.common.tls_farewell import send_alert

ALERT = b"\x15\x03\x03\x00\x02\x02\x28"
PATIENCE_SECONDS = 5


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for end in (ours, theirs):
            end.setblocking(False)
        yield ours, theirs


def test_alert_is_followed_by_the_end_of_our_side_only(ends):
    ours, theirs = ends

    async def scenario():
        loop = asyncio.get_running_loop()
        telling = asyncio.ensure_future(send_alert(loop, ours, ALERT))
        assert await loop.sock_recv(theirs, 100) == ALERT
        assert await loop.sock_recv(theirs, 100) == b""
        assert not telling.done()
        sending = loop.sock_sendall(theirs, bytes(1_000_000))  # taken, or it would never end
        await asyncio.wait_for(sending, PATIENCE_SECONDS)
        theirs.close()
        await asyncio.wait_for(telling, PATIENCE_SECONDS)

    asyncio.run(scenario())


def test_client_that_stays_has_its_time(ends, monkeypatch):
    monkeypatch.setattr(tls_farewell, "SECONDS_MAX", 0.01)
    ours, theirs = ends

    async def scenario():
        telling = send_alert(asyncio.get_running_loop(), ours, ALERT)
        await asyncio.wait_for(telling, PATIENCE_SECONDS)

    asyncio.run(scenario())
    assert theirs.recv(100) == ALERT


def test_client_that_has_left_is_an_error(ends):
    ours, theirs = ends
    theirs.close()

    async def scenario():
        await send_alert(asyncio.get_running_loop(), ours, ALERT)

    with pytest.raises(OSError, match="Broken pipe"):
        asyncio.run(scenario())

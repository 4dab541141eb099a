"""One HTTP connection, with the limits that uvicorn leaves to a proxy in front of it.

uvicorn closes a connection that is idle after an answer. It waits for ever for one that says
nothing, or half a request, or does not read its answer: here each of them has a deadline. And
however many connect, no more than a fixed number are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

CONNECTIONS_MAX = 256
"""Of one listener; a further one is closed at once."""
EXCHANGE_SECONDS_MAX = 60.0
"""From the connection, or the last answer, until the next answer is written; and until a client has
read what it asked for before it hung up."""


PIECE_BYTES = 4_096


class GuardedConnection(H11Protocol):
    """A connection that always makes progress, or ends."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(  # type: ignore[override] # as uvicorn's own
        self, transport: asyncio.Transport
    ) -> None:
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS_MAX:
            transport.abort()
            return
        self._expect_progress()

    def data_received(self, data: bytes) -> None:
        # In pieces, because h11 minds the length of a head only while it is incomplete.
        for start in range(0, len(data), PIECE_BYTES):
            if self.transport.is_closing():
                return
            try:
                super().data_received(data[start : start + PIECE_BYTES])
            except h11.LocalProtocolError:
                # The rest of a request is broken while its answer is under way: no more to say.
                self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """A request turned out to be broken; whoever handles what came of it need not answer."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        super().send_400_response(msg)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._expect_progress()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def _expect_progress(self) -> None:
        self._forget_deadline()
        self._deadline = self.loop.call_later(EXCHANGE_SECONDS_MAX, self.transport.abort)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

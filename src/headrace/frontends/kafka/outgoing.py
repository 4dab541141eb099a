"""The outgoing side of a Kafka connection: answers leave in the order of their requests.

An answer that must wait (a parked fetch, a join, a sync to disk) is a ``Pending`` that keeps its
place in the queue; those behind it wait for it. What is ready leaves at the end of the loop's turn,
together with what the other connections have.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from time import perf_counter
from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.headers import encode_response_frame
from headrace.frontends.common.outbox import pin_files, release_files
from headrace.model.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.frontends.common.outbox import Outbox
    from headrace.frontends.common.tls_outbox import TlsOutbox
    from headrace.frontends.kafka.context import Pending
    from headrace.frontends.kafka.listener import KafkaListener
    from headrace.frontends.kafka.routes import Route

log = logging.getLogger(__name__)

ANSWER_BYTES_LARGE = 16 * 1024
OUTGOING_CHUNKS_MAX = 512
"""Answers are gathered while requests are read; no more of them than this, and none so large."""


class _Slot:
    """The place of one answer in the queue."""

    __slots__ = ("chunks", "correlation_id", "pending", "route", "size_bytes", "started")

    def __init__(self, route: Route, correlation_id: int, pending: Pending | None) -> None:
        self.route = route
        self.correlation_id = correlation_id
        self.pending = pending
        self.chunks: list[Any] | None = None
        self.size_bytes = 0
        self.started = perf_counter()


class Outgoing(asyncio.BufferedProtocol):
    """Answers, and the end of the connection."""

    outbox: Outbox | TlsOutbox
    _transport: asyncio.Transport

    def __init__(self, listener: KafkaListener) -> None:
        self._listener = listener
        self._metrics = listener.broker.metrics
        self._loop = asyncio.get_running_loop()
        self.peer_host = "?"
        self.peer_port = 0
        self.closed = False
        self._outgoing: list[Any] = []
        self._is_departing = False
        self._slots: deque[_Slot] = deque()
        self._ready_bytes = 0
        """Size of the answers that wait in their slots behind one that is still owed."""
        self._parsing = False
        """Requests are being read: what is ready leaves after the last of them."""

    @property
    def has_pending(self) -> bool:
        """Whether an answer is owed."""
        return bool(self._slots)

    def _await(self, route: Route, correlation_id: int, pending: Pending) -> None:
        """Keep the place of an answer that comes later."""
        slot = _Slot(route, correlation_id, pending)
        self._slots.append(slot)
        pending.attach(lambda answer: self._deliver(slot, answer))

    def _answer(self, route: Route, correlation_id: int, response: Any) -> None:
        """Send at once, or behind the answers that are still owed."""
        if self._slots:
            slot = _Slot(route, correlation_id, None)
            self._fill(slot, response)
            self._slots.append(slot)
        else:
            chunks = _encode(route, correlation_id, response)
            self._outgoing += chunks
            # One read may bring thousands of requests: what they have coming must be counted.
            if (
                len(chunks) > 2
                or len(chunks[-1]) > ANSWER_BYTES_LARGE
                or len(self._outgoing) > OUTGOING_CHUNKS_MAX
            ):
                self._flush()

    def _deliver(self, slot: _Slot, response: Any) -> None:
        """An answer that was pending has come; send it and what waited behind it."""
        if self.closed:
            return
        slot.pending = None
        try:
            self._fill(slot, response)
        except Exception as error:
            self._fail(slot.route, error)
            return
        self._metrics.observe_request(slot.route.api_key, perf_counter() - slot.started)
        slots = self._slots
        while slots and slots[0].chunks is not None:
            ready = slots.popleft()
            self._ready_bytes -= ready.size_bytes
            self._outgoing += ready.chunks or ()
        if not self._parsing:
            self._depart()
            self._resume()

    def _fill(self, slot: _Slot, response: Any) -> None:
        """Put the answer into its place; None is no answer at all."""
        if response is None:
            slot.chunks = []
            return
        slot.chunks = _encode(slot.route, slot.correlation_id, response)
        slot.size_bytes = sum(map(len, slot.chunks))
        self._ready_bytes += slot.size_bytes

    def _forget_answers(self) -> None:
        """Nobody will read them."""
        for slot in self._slots:
            if slot.pending is not None:
                slot.pending.connection_closed()
            if slot.chunks:
                release_files(slot.chunks)
        self._slots.clear()

    def _depart(self) -> None:
        """What is ready leaves at the end of this turn."""
        if self._outgoing and not self._is_departing:
            self._is_departing = True
            self._listener.departures.add(self._flush)

    def _flush(self) -> None:
        self._is_departing = False
        if self._outgoing:
            outgoing = self._outgoing
            self._outgoing = []
            self.outbox.send(outgoing)

    def _resume(self) -> None:
        """Go on reading if there is room again."""
        raise NotImplementedError

    # --- the end --------------------------------------------------------------------------------

    def _fail(self, route: Route, error: Exception) -> None:
        """A handler raised: it has no answer, so the peer must not wait for one."""
        if isinstance(error, HeadraceError):
            self.cut_off("failed", f"{route.name} v{route.version}: {error.message}")
        else:
            log.error("%s v%d failed", route.name, route.version, exc_info=error)
            self.cut_off("failed", f"internal error in {route.name}")

    def cut_off(self, reason: str, detail: str) -> None:
        """End the connection for what the peer did, and say so; ``reason`` is a fixed word."""
        if self.closed:
            return
        log.warning(
            "connection closed peer=%s:%d reason=%s: %s",
            self.peer_host,
            self.peer_port,
            reason,
            detail,
        )
        self._metrics.connections_cut_off += 1
        self.close()

    def close(self) -> None:
        """End the connection; answers that are ready go out first."""
        if not self.closed:
            self._flush()
            self.closed = True
            self._transport.close()

    def abort(self) -> None:
        """End the connection now."""
        self.closed = True
        self._transport.abort()


def _encode(route: Route, correlation_id: int, response: Any) -> list[Any]:
    if isinstance(response, bytes):  # encoded by its handler
        size = len(response)
        return [
            encode_response_frame(correlation_id, route.answer_header_is_flexible, size),
            response,
        ]
    chunks: list[Any] = [b""]
    route.encode(response, chunks)
    body_size = sum(map(len, chunks))
    chunks[0] = encode_response_frame(correlation_id, route.answer_header_is_flexible, body_size)
    if len(chunks) > 2:
        pin_files(chunks)
    return chunks

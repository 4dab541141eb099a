"""One Kafka connection: bytes in, frames, requests, answers in the order of the requests.

Nothing here is a task: a request is handled when its last byte has come, inside the callback that
brought it; a very large one in turns with the other connections. An answer that must wait (a parked
fetch, a join, a sync to disk) is a ``Pending``; later answers queue behind it. Reading stops while
too many answers wait or the peer does not take them.
"""

from __future__ import annotations

import asyncio
import logging
import struct
from collections import deque
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar, cast

from headrace.codecs.kafka.errors import MalformedMessage
from headrace.codecs.kafka.headers import encode_response_frame
from headrace.codecs.kafka.wire import skip_tagged_fields
from headrace.frontends.common.outbox import Outbox, pin_files, release_files
from headrace.frontends.kafka.context import Pending, RequestContext
from headrace.frontends.kafka.frame_buffers import BUFFER_BYTES
from headrace.frontends.kafka.handlers.api_18_api_versions import unsupported_version
from headrace.frontends.kafka.large_frames import LARGE_FROM_BYTES
from headrace.frontends.kafka.routes import Route, route_of
from headrace.model.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from headrace.frontends.kafka.listener import AdvertisedAddress, KafkaListener

log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")

FRAME_FIRST_BYTES = 64 * 1024
"""What a frame's claimed size is believed at first; its buffer grows as bytes arrive."""

TURN_READ_BYTES = 512 * 1024
"""Read of a large frame in one turn; to copy them into fresh memory takes about a millisecond."""

FRAME_BYTES_PER_SECOND_MIN = 64 * 1024
"""A peer that sends a request slower than this is cut off, once its patience is used up."""

OTHER_FRAME_BYTES_MAX = 8 * 1024 * 1024
"""Only Produce carries records; anything else this large is a multitude of tiny objects."""

ANSWER_BYTES_LARGE = 16 * 1024
OUTGOING_CHUNKS_MAX = 512
"""Answers are gathered while requests are read; no more of them than this, and none so large."""

PRODUCE_KEY = 0
API_VERSIONS_KEY = 18
_START = struct.Struct(">ihhih")
"""Frame size, API key, version, correlation id, length of the client id."""
_unpack_start = _START.unpack_from
_unpack_size = struct.Struct(">i").unpack_from
_FRAME_BYTES_MIN = _START.size
_HEADER_BYTES_MIN = _FRAME_BYTES_MIN - 4
_CLIENT_AT = 8

_Known = tuple[
    Route,
    "Callable[[Any, int], tuple[Any, int]]",
    "Callable[[Any, Any], Any]",
    RequestContext,
    "Callable[[float], None]",
]
"""What each request of a kind needs again: route, its decoder and handler, context, histogram."""


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


class Session(asyncio.BufferedProtocol):
    """The state of one connection."""

    outbox: Outbox
    _transport: asyncio.Transport

    def __init__(self, listener: KafkaListener) -> None:
        self._listener = listener
        self._broker = listener.broker
        self._metrics = listener.broker.metrics
        self._loop = asyncio.get_running_loop()
        self.advertised: AdvertisedAddress = listener.advertised
        self.peer_host = "?"
        self.peer_port = 0
        self.last_active = self._loop.time()
        self.closed = False
        config = listener.broker.config
        self._frame_bytes_max = config.socket_request_max_bytes
        self._other_bytes_max = min(OTHER_FRAME_BYTES_MAX, self._frame_bytes_max)
        self._in_flight_max = config.connection_requests_max
        self._outbox_bytes_max = config.connection_buffered_bytes_max
        # Bytes that are no whole frame yet, or that wait while reading is paused.
        self._own: bytearray | mmap | None = None
        self._own_end = 0
        """How far ``_own`` may be filled: to the end of its frame, if that is known."""
        self._filled = 0
        self._borrowed: bytearray | None = None
        """``_own``, if it is one of the listener's buffers."""
        self._frame_begun = 0.0
        self._outgoing: list[Any] = []
        self._is_departing = False
        self._slots: deque[_Slot] = deque()
        self._ready_bytes = 0
        """Size of the answers that wait in their slots behind one that is still owed."""
        self._parsing = False
        self._paused = False
        self._is_busy = False
        """A request is handled in turns: the next one has to wait for its end."""
        self._reserved_bytes = 0
        self._awaits_memory = False
        self._known: dict[int, _Known] = {}
        self._client_header: bytes | None = None
        self._client_id: str | None = None
        self.fetch_sessions = listener.fetch_sessions

    # --- the loop calls these -------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        peer = transport.get_extra_info("peername")
        if peer:
            self.peer_host, self.peer_port = peer[0], peer[1]
        self.outbox = Outbox(self._loop, self._transport, self._resume)
        refusal = self._listener.admit(self)
        if refusal is not None:
            self.cut_off("refused", refusal)

    def get_buffer(self, sizehint: int) -> memoryview | bytearray:
        if self._own is None:
            return self._listener.receive_view
        if self._filled == self._own_end:
            self._grow()
        if self._reserved_bytes:
            return memoryview(self._own)[self._filled : self._filled + TURN_READ_BYTES]
        return memoryview(self._own)[self._filled : self._own_end]

    def buffer_updated(self, nbytes: int) -> None:
        self.last_active = self._loop.time()
        if self._own is None:
            view = self._listener.receive_view
            consumed = self._parse(view, nbytes)
            if consumed < nbytes and not self.closed:
                self._keep(view[consumed:nbytes])
        else:
            self._filled += nbytes
            self._parse_own()
            is_large = self._filled >= LARGE_FROM_BYTES and not self.closed
            if is_large and not (self._reserved_bytes or self._paused):
                self._reserve_frame()
            elif is_large:
                self._let_others_in()
        if self._paused:
            self._resume()

    def eof_received(self) -> bool:
        return False  # the transport closes itself

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self.outbox.close()
        self._let_go()
        for slot in self._slots:
            if slot.pending is not None:
                slot.pending.connection_closed()
            if slot.chunks:
                release_files(slot.chunks)
        self._slots.clear()
        self._known.clear()
        if self._awaits_memory:
            self._listener.large_frames.withdraw(self._memory_granted)
        self._release_frame()
        self._listener.forget(self)

    # --- frames ---------------------------------------------------------------------------------

    def _keep(self, rest: memoryview) -> None:
        """Bytes of a frame that has only begun: they get a place of their own."""
        self._filled = len(rest)
        self._frame_begun = self.last_active
        frame_end = 4 + _unpack_size(rest)[0] if self._filled >= 4 else 0
        if FRAME_FIRST_BYTES < frame_end <= BUFFER_BYTES and self._filled < frame_end:
            self._borrowed = self._listener.frame_buffers.take()
        if self._borrowed is not None:
            self._borrowed[: self._filled] = rest
            self._own, self._own_end = self._borrowed, frame_end
        else:
            self._own, self._own_end = bytearray(rest), self._filled

    def _let_go(self) -> None:
        self._own, self._filled = None, 0
        if self._borrowed is not None:
            borrowed, self._borrowed = self._borrowed, None
            self._listener.frame_buffers.give_back(borrowed)

    def _grow(self) -> None:
        """More room for the frame that has begun; never more than twice of what has come."""
        assert self._own is not None
        size, frame_end = FRAME_FIRST_BYTES, 0
        if self._filled >= 4:
            frame_end = 4 + _unpack_size(self._own)[0]
            size = min(frame_end, max(2 * self._filled, FRAME_FIRST_BYTES))
        # A new buffer, not a larger one: somebody may still look at a slice of the old one.
        grown: bytearray | mmap
        if LARGE_FROM_BYTES <= self._filled < frame_end:
            # Memory comes page by page with its bytes: nothing is copied or zeroed in one go while
            # the others wait.
            grown = mmap(-1, frame_end, flags=MAP_PRIVATE | MAP_ANONYMOUS)
        else:
            grown = bytearray(max(size, self._filled + 1))
        filled = self._filled
        memoryview(grown)[:filled] = memoryview(self._own)[:filled]
        self._let_go()
        self._own, self._own_end, self._filled = grown, len(grown), filled

    def _parse_own(self) -> None:
        assert self._own is not None
        own, filled = self._own, self._filled
        consumed = self._parse(memoryview(own), filled)
        if self.closed:
            return
        if consumed == filled:
            self._let_go()
        elif consumed:
            with memoryview(own)[consumed:filled] as rest:
                borrowed, self._borrowed = self._borrowed, None
                self._keep(rest)
            if borrowed is not None:
                self._listener.frame_buffers.give_back(borrowed)
        if consumed and not self._is_busy:
            self._release_frame()

    def _reserve_frame(self) -> None:
        """The frame has become a large one: room for all of it, or the rest is not read yet."""
        assert self._own is not None
        size = 4 + _unpack_size(self._own)[0]
        if self._listener.large_frames.reserve(size, self._memory_granted):
            self._reserved_bytes = size
        else:
            self._awaits_memory = True
            self._pause()

    def _let_others_in(self) -> None:
        """Of a large frame, one piece is read in a turn: the loop itself would take many."""
        if not self._paused:
            self._transport.pause_reading()
            self._listener.turns.add(self._read_on)

    def _read_on(self) -> bool:
        if not self._paused and not self.closed and not self._transport.is_closing():
            self._transport.resume_reading()
        return False

    def _memory_granted(self) -> None:
        assert self._own is not None
        self._awaits_memory = False
        self._reserved_bytes = 4 + _unpack_size(self._own)[0]
        self._frame_begun = self._loop.time()
        self._resume()

    def _release_frame(self) -> None:
        if self._reserved_bytes:
            size, self._reserved_bytes = self._reserved_bytes, 0
            self._listener.large_frames.release(size)

    def _parse(self, view: memoryview, end: int) -> int:
        """Handle the whole frames in ``view[:end]``; how many bytes they took."""
        position = 0
        self._parsing = True
        try:
            while end - position >= _FRAME_BYTES_MIN:
                size, api_key, version, correlation_id, client_length = _unpack_start(
                    view, position
                )
                frame_end = position + 4 + size
                limit = self._frame_bytes_max if api_key == PRODUCE_KEY else self._other_bytes_max
                if frame_end > end or not _HEADER_BYTES_MIN <= size <= limit:
                    break
                frame = view[position + 4 : frame_end]
                self._request(frame, api_key, version, correlation_id, client_length)
                position = frame_end
                if self.closed:
                    return end
                if (self._slots or self.outbox.buffered_bytes) and self._has_no_room():
                    self._pause()
                    break
        finally:
            self._parsing = False
            self._depart()
        if not self._paused and end - position >= 4:
            self._cut_off_if_illegal(view[position:end])
        return position

    def _cut_off_if_illegal(self, begun: memoryview) -> None:
        """Look at a frame that has only begun: a size that cannot be right is not waited for."""
        size, limit = _unpack_size(begun)[0], self._frame_bytes_max
        if len(begun) >= _FRAME_BYTES_MIN and _unpack_start(begun)[1] != PRODUCE_KEY:
            limit = self._other_bytes_max
        if not _HEADER_BYTES_MIN <= size <= limit:
            self.cut_off("too-large", f"frame of {size} bytes (limit {limit})")

    # --- requests -------------------------------------------------------------------------------

    def _request(
        self, frame: memoryview, api_key: int, version: int, correlation_id: int, client_length: int
    ) -> None:
        started = perf_counter()
        position = _HEADER_BYTES_MIN + client_length if client_length > 0 else _HEADER_BYTES_MIN
        known = self._known.get(api_key << 16 | version)
        if known is None or frame[_CLIENT_AT:position].tobytes() != self._client_header:
            known = self._introduce(frame, api_key, version, correlation_id, client_length)
            if known is None:
                return
        route, decode, handle, context, observe = known
        try:
            if route.header_is_flexible:
                tag_count = frame[position]
                position += 1
                if tag_count:
                    position = skip_tagged_fields(frame, position, tag_count)
            request, _ = decode(frame, position)
        except (MalformedMessage, IndexError) as error:
            self.cut_off("malformed", f"cannot read {route.name} v{version}: {error}")
            return
        try:
            response = handle(request, context)
            if isinstance(response, Pending):
                self._await(route, correlation_id, response)
                return
            if response is not None:
                self._answer(route, correlation_id, response)
        except Exception as error:
            self._fail(route, error)
            return
        observe(perf_counter() - started)

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

    def in_turns(
        self, work: Generator[None, None, _Answer], context: RequestContext
    ) -> _Answer | Pending:
        """The answer that ``work`` returns. Each time it yields, the other connections come first;
        this one is not listened to before the end."""
        try:
            next(work)
        except StopIteration as end:
            answer: _Answer = end.value
            return answer
        self._is_busy = True
        pending = Pending()
        self._listener.turns.add(lambda: self._take_turn(work, context, pending))
        return pending

    def _take_turn(
        self, work: Generator[None, None, Any], context: RequestContext, pending: Pending
    ) -> bool:
        """Whether there is more to do."""
        try:
            next(work)
            return True
        except StopIteration as end:
            answer = end.value
        except Exception as error:
            route = route_of(context.api_key, context.version)
            assert route is not None
            self._fail(route, error)
            return False
        self._is_busy = False
        self._release_frame()
        if isinstance(answer, Pending):
            answer.attach(pending.complete)
        else:
            pending.complete(answer)
        self._resume()
        return False

    def _introduce(
        self, frame: memoryview, api_key: int, version: int, correlation_id: int, client_length: int
    ) -> _Known | None:
        """First request of its kind, or of another client id: find out who is to answer it."""
        route = route_of(api_key, version)
        if route is None:
            self._refuse(api_key, version, correlation_id)
            return None
        client_end = _HEADER_BYTES_MIN + max(client_length, 0)
        client_header = frame[_CLIENT_AT:client_end].tobytes()
        if client_header != self._client_header:
            try:
                client_id = client_header[2:].decode() if client_length >= 0 else None
            except UnicodeDecodeError as error:
                self.cut_off("malformed", f"the client id is no text: {error}")
                return None
            self._client_header, self._client_id = client_header, client_id
            self._known.clear()
        context = RequestContext(self, self._broker, api_key, version, self._client_id)
        observe = self._metrics.request_histogram(api_key).observe
        known = (route, route.decode, route.handle, context, observe)
        self._known[api_key << 16 | version] = known
        return known

    def _refuse(self, api_key: int, version: int, correlation_id: int) -> None:
        """Unknown key or version: the end, except that ApiVersions names what we have."""
        if api_key != API_VERSIONS_KEY:
            self.cut_off("unsupported", f"api key {api_key} version {version} is not served")
            return
        route = route_of(API_VERSIONS_KEY, 0)
        assert route is not None
        self._answer(route, correlation_id, unsupported_version())

    def _fail(self, route: Route, error: Exception) -> None:
        """A handler raised: it has no answer, so the peer must not wait for one."""
        if isinstance(error, HeadraceError):
            self.cut_off("failed", f"{route.name} v{route.version}: {error.message}")
        else:
            log.error("%s v%d failed", route.name, route.version, exc_info=error)
            self.cut_off("failed", f"internal error in {route.name}")

    # --- answers --------------------------------------------------------------------------------

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

    @property
    def has_pending(self) -> bool:
        """Whether an answer is owed."""
        return bool(self._slots)

    @property
    def is_paused(self) -> bool:
        """Whether nothing is read from the peer, because it has enough answers to wait for."""
        return self._paused

    def is_trickling(self, now: float, patience_seconds: float) -> bool:
        """Whether a request has begun and comes too slowly to be waited for."""
        if self._own is None or self._paused:
            return False
        return (
            now - self._frame_begun > patience_seconds + self._filled / FRAME_BYTES_PER_SECOND_MIN
        )

    # --- flow and end ---------------------------------------------------------------------------

    def _has_no_room(self) -> bool:
        return (
            self._is_busy
            or self._awaits_memory
            or len(self._slots) >= self._in_flight_max
            or self.outbox.buffered_bytes + self._ready_bytes > self._outbox_bytes_max
        )

    def _pause(self) -> None:
        if not self._paused and not self.closed:
            self._paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        """Go on reading if there is room again; first what had been read already."""
        while self._paused and not self.closed and not self._parsing and not self._has_no_room():
            self._paused = False
            if self._own is not None:
                self._parse_own()
            if not self._paused and not self.closed and not self._transport.is_closing():
                self._transport.resume_reading()

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

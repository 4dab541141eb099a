"""The incoming side of a Kafka connection: bytes become frames, and reading stops where it must.

All connections receive into one buffer of their listener; only what is no whole frame yet moves to
a buffer of the connection. Nothing is read while too many answers wait, the peer does not take
them, a large frame has no memory, a request is handled in turns, or a quota says so.
"""

from __future__ import annotations

import struct
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import TYPE_CHECKING

from headrace.frontends.kafka.frame_buffers import BUFFER_BYTES
from headrace.frontends.kafka.large_frames import LARGE_FROM_BYTES
from headrace.frontends.kafka.outgoing import Outgoing

if TYPE_CHECKING:
    import asyncio

    from headrace.frontends.kafka.listener import KafkaListener

FRAME_FIRST_BYTES = 64 * 1024
"""What a frame's claimed size is believed at first; its buffer grows as bytes arrive."""

TURN_READ_BYTES = 512 * 1024
"""Read of a large frame in one turn; to copy them into fresh memory takes about a millisecond."""

FRAME_BYTES_PER_SECOND_MIN = 64 * 1024
"""A peer that sends a request slower than this is cut off, once its patience is used up."""

OTHER_FRAME_BYTES_MAX = 8 * 1024 * 1024
"""Only Produce carries records; anything else this large is a multitude of tiny objects."""

MUTE_MS_MAX = 60_000
"""However much a quota is exceeded, a client is listened to again after this."""

PRODUCE_KEY = 0
_START = struct.Struct(">ihhih")
"""Frame size, API key, version, correlation id, length of the client id."""
_unpack_start = _START.unpack_from
_unpack_size = struct.Struct(">i").unpack_from
_FRAME_BYTES_MIN = _START.size
HEADER_BYTES_MIN = _FRAME_BYTES_MIN - 4
_SIZE_BYTES = 4
_TLS_START = 0x1603
"""A TLS record with a handshake in it begins so; as a frame it would have 350 MB."""
TLS_HINT = (
    "the client speaks TLS and this listener does not: use the port of another listener, or add one"
    " with --listen kafka+ssl://HOST:PORT"
)


class Incoming(Outgoing):
    """Frames, and when to read them."""

    def __init__(self, listener: KafkaListener) -> None:
        super().__init__(listener)
        self.last_active = self._loop.time()
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
        self._paused = False
        self._is_busy = False
        """A request is handled in turns or in a thread: the next one has to wait for its end."""
        self._reserved_bytes = 0
        self._awaits_memory = False
        self._takes_bare_tokens = False
        """Frames have no request in them, only a token (SaslHandshake v0)."""
        self._is_muted = False
        self._muted_until = 0.0
        self._unmuting: asyncio.TimerHandle | None = None

    # --- the loop calls these -------------------------------------------------------------------

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

    # --- frames ---------------------------------------------------------------------------------

    def _keep(self, rest: memoryview) -> None:
        """Bytes of a frame that has only begun: they get a place of their own."""
        self._filled = len(rest)
        self._frame_begun = self.last_active
        frame_end = 0
        if self._filled >= _SIZE_BYTES:
            frame_end = _SIZE_BYTES + _unpack_size(rest)[0]
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
        if self._filled >= _SIZE_BYTES:
            frame_end = _SIZE_BYTES + _unpack_size(self._own)[0]
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

    def _parse(self, view: memoryview, end: int) -> int:
        """Handle the whole frames in ``view[:end]``; how many bytes they took."""
        position = 0
        self._parsing = True
        try:
            while end - position >= _FRAME_BYTES_MIN and not self._takes_bare_tokens:
                size, api_key, version, correlation_id, client_length = _unpack_start(
                    view, position
                )
                frame_end = position + _SIZE_BYTES + size
                limit = self._frame_bytes_max if api_key == PRODUCE_KEY else self._other_bytes_max
                if frame_end > end or not HEADER_BYTES_MIN <= size <= limit:
                    break
                frame = view[position + _SIZE_BYTES : frame_end]
                self._request(frame, api_key, version, correlation_id, client_length)
                position = frame_end
                if self.closed:
                    return end
                if self._is_muted or (
                    (self._slots or self.outbox.buffered_bytes) and self._has_no_room()
                ):
                    self._pause()
                    break
            if self._takes_bare_tokens and not self._paused:
                position = self._parse_bare_token(view, position, end)
        finally:
            self._parsing = False
            self._depart()
        if not self._paused and not self.closed and end - position >= _SIZE_BYTES:
            self._cut_off_if_illegal(view[position:end])
        return position

    def _parse_bare_token(self, view: memoryview, position: int, end: int) -> int:
        """Handle a token that follows a SaslHandshake v0; where the next frame begins.

        Only one, and then a pause: what it leads to decides what comes next.
        """
        if end - position < _SIZE_BYTES:
            return position
        size: int = _unpack_size(view, position)[0]
        token_end = position + _SIZE_BYTES + size
        if token_end > end or not 0 <= size <= self._other_bytes_max:
            return position
        self._pause()
        self._bare_token(view[position + _SIZE_BYTES : token_end].tobytes())
        return token_end

    def _cut_off_if_illegal(self, begun: memoryview) -> None:
        """Look at a frame that has only begun: a size that cannot be right is not waited for."""
        size, limit = _unpack_size(begun)[0], self._frame_bytes_max
        smallest = 0 if self._takes_bare_tokens else HEADER_BYTES_MIN
        if len(begun) >= _FRAME_BYTES_MIN and _unpack_start(begun)[1] != PRODUCE_KEY:
            limit = self._other_bytes_max
        if smallest <= size <= limit:
            return
        if size >> 16 == _TLS_START:
            self.cut_off("tls", TLS_HINT)
        else:
            self.cut_off("too-large", f"frame of {size} bytes (limit {limit})")

    def _request(
        self, frame: memoryview, api_key: int, version: int, correlation_id: int, client_length: int
    ) -> None:
        """Handle one request; ``frame`` is only good for the time of this call."""
        raise NotImplementedError

    def _bare_token(self, token: bytes) -> None:
        """Handle one token that came without a request around it."""
        raise NotImplementedError

    # --- large frames ---------------------------------------------------------------------------

    def _reserve_frame(self) -> None:
        """The frame has become a large one: room for all of it, or the rest is not read yet."""
        assert self._own is not None
        size = _SIZE_BYTES + _unpack_size(self._own)[0]
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
        self._reserved_bytes = _SIZE_BYTES + _unpack_size(self._own)[0]
        self._frame_begun = self._loop.time()
        self._resume()

    def _release_frame(self) -> None:
        if self._reserved_bytes:
            size, self._reserved_bytes = self._reserved_bytes, 0
            self._listener.large_frames.release(size)

    def _forget_frames(self) -> None:
        """Nothing more will come."""
        self._let_go()
        if self._awaits_memory:
            self._listener.large_frames.withdraw(self._memory_granted)
        self._release_frame()
        if self._unmuting is not None:
            self._unmuting.cancel()

    # --- when to read ---------------------------------------------------------------------------

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

    def mute(self, throttle_ms: int) -> None:
        """Answer as ever, but read nothing for so long: what KIP-219 asks for beyond a quota."""
        if throttle_ms <= 0 or self.closed:
            return
        until = self._loop.time() + min(throttle_ms, MUTE_MS_MAX) / 1000
        if until <= self._muted_until:
            return
        self._muted_until = until
        self._is_muted = True
        if self._unmuting is not None:
            self._unmuting.cancel()
        self._unmuting = self._loop.call_at(until, self._unmute)
        self._pause()

    def _unmute(self) -> None:
        self._is_muted = False
        self._resume()

    def hold(self) -> None:
        """Handle no further request before ``go_on``: this one takes longer."""
        self._is_busy = True

    def go_on(self) -> None:
        """What ``hold`` was called for is done."""
        self._is_busy = False
        self._release_frame()
        self._resume()

    def _has_no_room(self) -> bool:
        return (
            self._is_busy
            or self._is_muted
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

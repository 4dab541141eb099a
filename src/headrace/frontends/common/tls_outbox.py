"""The outgoing side of an encrypted connection: the same door as ``Outbox``, through the transport.

Bytes must be encrypted, so nothing goes from the page cache to the socket directly: slices of files
are read in pieces, and no further piece is read or encrypted while the peer does not take what
there is.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from headrace.frontends.common.outbox import release_files

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from headrace.environment.ports import Buffer
    from headrace.frontends.common.outbox import FileSlice

PIECE_BYTES = 128 * 1024
"""Read and encrypted at a time: about a tenth of a millisecond."""
WRITE_BUFFER_BYTES_MAX = 512 * 1024
"""Encrypted bytes that may wait in the transport before the next piece is read."""


class _Rest:
    """What is left of a pinned slice."""

    __slots__ = ("position", "remaining", "slice")

    def __init__(self, chunk: FileSlice) -> None:
        self.slice = chunk
        self.position = chunk.position
        self.remaining = len(chunk)


class TlsOutbox:
    """Chunks on their way to one encrypted connection."""

    __slots__ = (
        "_closed",
        "_is_full",
        "_loop",
        "_moved_at",
        "_on_drained",
        "_queue",
        "_queued_bytes",
        "_transport",
        "_untaken_bytes",
        "sent_bytes",
        "socket_descriptor",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        transport: asyncio.Transport,
        on_drained: Callable[[], None],
        buffered_bytes_max: int,
    ) -> None:
        """``on_drained`` is called once a peer that did not read has taken enough to go on.

        Whoever waits for it does so only with more than ``buffered_bytes_max`` in here: the
        transport must be full by then, or it would never tell that it no longer is.
        """
        self._loop = loop
        self._transport = transport
        self._on_drained = on_drained
        self._queue: deque[Buffer | _Rest] = deque()
        self._queued_bytes = 0
        self._is_full = False
        self._closed = False
        transport.set_write_buffer_limits(high=min(WRITE_BUFFER_BYTES_MAX, buffered_bytes_max))
        self.socket_descriptor = transport.get_extra_info("socket").fileno()
        self.sent_bytes = 0
        self._untaken_bytes = 0
        self._moved_at = loop.time()

    @property
    def buffered_bytes(self) -> int:
        """What the peer has not taken yet."""
        if self._closed:
            return 0
        return self._queued_bytes + self._transport.get_write_buffer_size()

    @property
    def stalled_since(self) -> float:
        """When the peer was last seen to take something, by whoever looks now and then."""
        untaken = self.buffered_bytes
        if untaken != self._untaken_bytes or not untaken:
            self._untaken_bytes = untaken
            self._moved_at = self._loop.time()
        return self._moved_at

    def send(self, chunks: list[Buffer | FileSlice]) -> None:
        """Take over the chunks, slices of files pinned, and send as much as the peer takes."""
        if self._closed or self._transport.is_closing():
            release_files(chunks)
            return
        plain: list[Buffer] = []
        for chunk in chunks:
            if isinstance(chunk, (bytes, bytearray, memoryview)):
                plain.append(chunk)
                continue
            self._keep(plain)
            plain = []
            self._queue.append(_Rest(chunk))
            self._queued_bytes += len(chunk)
        self._keep(plain)
        self._pump()

    def _keep(self, buffers: list[Buffer]) -> None:
        """Small ones together: each piece that is encrypted has a price of its own."""
        data = buffers[0] if len(buffers) == 1 else b"".join(buffers)
        if data:
            self._queue.append(data)
            self._queued_bytes += len(data)

    def pause_writing(self) -> None:
        """The transport has enough. Called by the loop."""
        self._is_full = True

    def resume_writing(self) -> None:
        """The peer reads again. Called by the loop."""
        self._is_full = False
        if self._closed:
            return
        self._pump()
        if not self._queue and not self._is_full and not self._closed:
            self._on_drained()

    def _pump(self) -> None:
        while self._queue and not self._is_full and not self._closed:
            head = self._queue[0]
            data = self._next_of_file(head) if isinstance(head, _Rest) else self._next_of(head)
            if data is None:
                return
            self._queued_bytes -= len(data)
            self.sent_bytes += len(data)
            self._transport.write(data)

    def _next_of(self, head: Buffer) -> Buffer:
        if len(head) <= PIECE_BYTES:
            self._queue.popleft()
            return head
        view = memoryview(head)
        self._queue[0] = view[PIECE_BYTES:]
        return view[:PIECE_BYTES]

    def _next_of_file(self, rest: _Rest) -> bytes | None:
        size = min(PIECE_BYTES, rest.remaining)
        if rest.slice.file is None:
            data = rest.slice.read()
        else:
            data = rest.slice.file.read_at(rest.position, size)
            if len(data) < size:
                # The file became shorter under us: the frame cannot be completed.
                self.close()
                self._transport.abort()
                return None
        rest.position += len(data)
        rest.remaining -= len(data)
        if rest.remaining <= 0:
            self._queue.popleft()
            rest.slice.release()
        return data

    def close(self) -> None:
        """Forget what was not sent, and let go of the files."""
        if self._closed:
            return
        self._closed = True
        for chunk in self._queue:
            if isinstance(chunk, _Rest):
                chunk.slice.release()
        self._queue.clear()
        self._queued_bytes = 0

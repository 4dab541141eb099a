"""The outgoing side of one connection: chunks leave in order, files go by sendfile.

Bytes are written to the socket at once, without asking the event loop; only when the kernel's
buffer is full is the rest kept and the loop asked to call back. A chunk may be a slice of a file
(anything with ``file``, ``position``, ``read``, ``pin`` and ``release``): large ones go from the
page cache to the socket without passing through Python.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from typing import TYPE_CHECKING, Protocol

from headrace.model.errors import HeadraceError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from headrace.environment.ports import Buffer, DiskFile

log = logging.getLogger(__name__)

SENDFILE_BYTES_MIN = 32 * 1024
"""Below this a copy is cheaper than a system call of its own."""

VECTOR_BUFFERS_MAX = 512
"""Buffers per ``writev``; the kernel takes 1024."""


class FileSlice(Protocol):
    """A part of a file that waits to be sent."""

    file: DiskFile | None
    position: int

    def __len__(self) -> int: ...
    def read(self) -> bytes: ...
    def pin(self) -> None: ...
    def release(self) -> None: ...


def pin_files(chunks: list[Buffer | FileSlice]) -> None:
    """Keep the files of an answer open, whatever happens to their logs until it is sent."""
    for chunk in chunks:
        if not isinstance(chunk, (bytes, bytearray, memoryview)):
            chunk.pin()


def release_files(chunks: list[Buffer | FileSlice]) -> None:
    """The answer will not be sent."""
    for chunk in chunks:
        if not isinstance(chunk, (bytes, bytearray, memoryview)):
            chunk.release()


class _FileRange:
    """What is left of a pinned slice."""

    __slots__ = ("descriptor", "owner", "position", "remaining")

    def __init__(self, owner: FileSlice, descriptor: int) -> None:
        self.owner = owner
        self.descriptor = descriptor
        self.position = owner.position
        self.remaining = len(owner)


class Outbox:
    """Chunks on their way to one socket."""

    __slots__ = (
        "_closed",
        "_loop",
        "_on_drained",
        "_queue",
        "_transport",
        "_watched",
        "buffered_bytes",
        "sent_bytes",
        "socket_descriptor",
        "stalled_since",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        transport: asyncio.Transport,
        on_drained: Callable[[], None],
    ) -> None:
        """``on_drained`` is called by the loop once a socket that was full has taken everything."""
        self._loop = loop
        self._transport = transport
        self._on_drained = on_drained
        self._queue: deque[memoryview | _FileRange] = deque()
        self._watched = -1
        self._closed = False
        self.socket_descriptor = transport.get_extra_info("socket").fileno()
        self.buffered_bytes = 0
        self.sent_bytes = 0
        self.stalled_since = 0.0

    def send(self, chunks: list[Buffer | FileSlice]) -> None:
        """Take over the chunks, slices of files pinned, and send as much as the socket takes.

        Never raises: whoever waits for an answer that cannot be sent is cut off."""
        if self._closed or self._transport.is_closing():
            release_files(chunks)
            return
        plain: list[Buffer] = []
        for number, chunk in enumerate(chunks):
            if isinstance(chunk, (bytes, bytearray, memoryview)):
                plain.append(chunk)
                continue
            size = len(chunk)
            try:
                descriptor = chunk.file.fileno() if chunk.file is not None else -1
                if descriptor < 0 or size < SENDFILE_BYTES_MIN:
                    plain.append(chunk.read())
                    chunk.release()
                    continue
            except HeadraceError as error:
                log.error("connection closed: an answer cannot be read: %s", error.message)
                release_files(chunks[number:])
                self._give_up()
                return
            if not self._send_bytes(plain):
                chunk.release()
                continue
            plain = []
            self._queue.append(_FileRange(chunk, descriptor))
            self.buffered_bytes += size
            if self._watched < 0:
                self._pump()
        if plain:
            self._send_bytes(plain)

    def _send_bytes(self, buffers: list[Buffer]) -> bool:
        """Send or keep them; False if the connection is over."""
        if self._closed or not buffers:
            return not self._closed
        data = buffers[0] if len(buffers) == 1 else b"".join(buffers)
        if self._queue:
            self._keep(memoryview(data))
            return True
        try:
            written = os.write(self.socket_descriptor, data)
        except BlockingIOError:
            written = 0
        except OSError:
            self._give_up()
            return False
        self.sent_bytes += written
        if written < len(data):
            self._keep(memoryview(data)[written:])
            self._watch()
        return not self._closed

    def _keep(self, rest: memoryview) -> None:
        self._queue.append(rest)
        self.buffered_bytes += len(rest)

    def _pump(self) -> None:
        """Send from the queue until it is empty or the socket is full."""
        try:
            while self._queue:
                head = self._queue[0]
                if isinstance(head, _FileRange):
                    self._send_file(head)
                else:
                    self._send_vector()
        except BlockingIOError:
            self._watch()
            return
        except OSError:
            self._give_up()
            return
        self._unwatch()

    def _send_file(self, head: _FileRange) -> None:
        sent = os.sendfile(self.socket_descriptor, head.descriptor, head.position, head.remaining)
        if sent == 0:
            # The file became shorter under us: the frame cannot be completed, so let nobody wait.
            raise ConnectionAbortedError("file ended before the slice did")
        self._count(sent)
        head.position += sent
        head.remaining -= sent
        if head.remaining == 0:
            self._queue.popleft()
            head.owner.release()

    def _send_vector(self) -> None:
        buffers: list[memoryview] = []
        for chunk in self._queue:
            if isinstance(chunk, _FileRange) or len(buffers) == VECTOR_BUFFERS_MAX:
                break
            buffers.append(chunk)
        sent = os.writev(self.socket_descriptor, buffers)
        self._count(sent)
        for buffer in buffers:
            if sent < len(buffer):
                self._queue[0] = buffer[sent:]
                break
            sent -= len(buffer)
            self._queue.popleft()

    def _count(self, sent: int) -> None:
        self.buffered_bytes -= sent
        self.sent_bytes += sent
        self.stalled_since = self._loop.time()

    def _watch(self) -> None:
        if self._watched < 0:
            # The loop refuses a second watcher on a transport's descriptor, so it gets a duplicate.
            try:
                self._watched = os.dup(self.socket_descriptor)
            except OSError:  # no descriptor is left: who does not read is the first to go
                self._give_up()
                return
            self.stalled_since = self._loop.time()
            self._loop.add_writer(self._watched, self._on_writable)

    def _on_writable(self) -> None:
        if self._transport.is_closing():
            self.close()
            return
        self._pump()
        # Not from ``send``: its caller would put new answers between the chunks of the old ones.
        if not self._queue and not self._closed:
            self._on_drained()

    def _unwatch(self) -> None:
        if self._watched >= 0:
            self._loop.remove_writer(self._watched)
            os.close(self._watched)
            self._watched = -1

    def _give_up(self) -> None:
        self.close()
        self._transport.abort()

    def close(self) -> None:
        """Forget what was not sent, and let go of the files."""
        if self._closed:
            return
        self._closed = True
        self._unwatch()
        for chunk in self._queue:
            if isinstance(chunk, _FileRange):
                chunk.owner.release()
        self._queue.clear()
        self.buffered_bytes = 0

"""Targets: what arrives on a connection, cut into pieces at any place.

A real server runs in an event loop of this thread; sessions get their bytes from us instead of from
a socket's transport. However the bytes come: no handler fails with an error that nobody named, the
answers do not depend on where the pieces end, nothing of the connection is left afterwards, and
another connection is served all the time.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import tempfile
from typing import Any

from headrace.codecs.kafka.headers import encode_request_header
from headrace.config.serve import ServeSettings
from headrace.coordination.metadata.topics import NewTopic
from headrace.frontends.kafka.listener import KafkaListener
from headrace.frontends.kafka.served_apis import HANDLERS
from headrace.frontends.kafka.session import Session
from headrace.server.launcher import Server
from tests.fuzz.target import expect
from tests.unit.codecs.kafka.kio_values import KioValues, kio_bytes, kio_entity
from tests.wire.calls import FETCH, PRODUCE, batch, fetch_request, produce_request
from tests.wire.raw_client import request_frame

PIECES_MAX = 64
LOOPS_AFTER_A_PIECE = 3
SERVER_INPUTS_MAX = 5_000
"""Then the server is stopped, started over its files, and must still have what was kept."""
NEIGHBOUR_EVERY = 50
ANSWER_BYTES_MAX = 64 * 1024 * 1024
READ_ONLY_APIS = frozenset({18, 60, 74, 16})
"""Answered at once, and the same way again: their answers can be compared."""
SETTINGS = {
    "listen": "kafka://127.0.0.1:0",
    "group.initial.rebalance.delay.ms": "0",
    "headrace.partitions.max": "300",
    "log.retention.bytes": "1000000",
    "log.segment.bytes": "1048576",
}
KEPT = b"what was kept"


class Errors(logging.Handler):
    """Keeps what the broker calls an error: an exception that nobody named."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))


class PieceTransport(asyncio.Transport):
    """The broker's side of a socket pair; what it reads is given to the session by hand."""

    def __init__(self, loop: asyncio.AbstractEventLoop, session: Session) -> None:
        super().__init__()
        self._loop = loop
        self._session = session
        self._ours, self._peer = socket.socketpair()
        self._ours.setblocking(False)
        self._peer.setblocking(False)
        self.answers = bytearray()
        self.is_paused = False
        self._is_closing = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("127.0.0.1", 1), "socket": self._ours}.get(name, default)

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._loop.call_soon(self._session.connection_lost, None)

    def abort(self) -> None:
        self.close()

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def give(self, piece: bytes) -> None:
        """As the loop does it: into the session's own buffer, as much as fits at a time."""
        view = memoryview(piece)
        while view and not self._is_closing and not self.is_paused:
            room = self._session.get_buffer(-1)
            size = min(len(room), len(view))
            memoryview(room)[:size] = view[:size]
            self._session.buffer_updated(size)
            view = view[size:]

    def drain(self) -> None:
        """Take what was answered, so that the socket's buffer is never the limit."""
        while True:
            try:
                data = self._peer.recv(1 << 20)
            except BlockingIOError:
                return
            if not data:
                return
            self.answers += data

    def end(self) -> None:
        self.drain()
        self._ours.close()
        self._peer.close()


class Node:
    """The server in a loop that runs only while an input is handled."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="headrace-fuzz-")
        self.loop = asyncio.new_event_loop()
        self.errors = Errors()
        logging.getLogger("headrace").addHandler(self.errors)
        self._level = logging.getLogger("headrace").level
        logging.getLogger("headrace").setLevel(logging.ERROR)
        self.start()
        self.loop.run_until_complete(self._create_topics())
        self.expect_answer(PRODUCE, 9, produce_request("kept", {0: batch(KEPT)}))

    def start(self) -> None:
        settings = ServeSettings.resolve({**SETTINGS, "data": self._directory.name})
        self.server = Server(settings)
        self.loop.run_until_complete(self.server.start())
        doors = (door for _, door in self.server._listeners)
        self.listener = next(door for door in doors if isinstance(door, KafkaListener))
        self.inputs = 0

    def stop(self) -> None:
        self.loop.run_until_complete(self.server.stop())

    def close(self) -> None:
        self.stop()
        self.loop.close()
        logging.getLogger("headrace").removeHandler(self.errors)
        logging.getLogger("headrace").setLevel(self._level)
        self._directory.cleanup()

    async def _create_topics(self) -> None:
        for name in ("fuzz", "kept"):
            self.server.broker.topic_changes.create(NewTopic(name, 2, 1, {"retention.ms": "-1"}))

    def converse(self, pieces: list[bytes]) -> tuple[bytes, bool]:
        """(what was answered, whether the broker ended the connection)"""
        return self.loop.run_until_complete(self._converse(pieces))

    async def _converse(self, pieces: list[bytes]) -> tuple[bytes, bool]:
        session = Session(self.listener)
        transport = PieceTransport(self.loop, session)
        session.connection_made(transport)
        for piece in pieces:
            transport.give(piece)
            for _ in range(LOOPS_AFTER_A_PIECE):
                await asyncio.sleep(0)
                transport.drain()
            expect(len(transport.answers) < ANSWER_BYTES_MAX, "the answers have no end")
        ended = transport.is_closing()
        transport.close()
        await asyncio.sleep(0)
        transport.end()
        expect(session not in self.listener.sessions, "a connection is not forgotten")
        expect(not self.errors.texts, "\n".join(self.errors.texts))
        return bytes(transport.answers), ended

    def expect_answer(self, api_key: int, version: int, request: Any) -> bytes:
        """A client that behaves is served."""
        frame = request_frame(api_key, version, request)
        answers, ended = self.converse([frame, b""])
        expect(len(answers) > 8 and not ended, "a well-behaved client got no answer")
        return answers

    def expect_kept(self) -> None:
        answer = self.expect_answer(FETCH, 12, fetch_request("kept", {0: 0}))
        expect(KEPT in answer, "what was stored before is gone")

    def took_an_input(self) -> None:
        self.inputs += 1
        if self.inputs % NEIGHBOUR_EVERY == 0:
            self.expect_kept()
        if self.inputs >= SERVER_INPUTS_MAX:
            self.stop()
            self.start()
            self.expect_kept()


class ConnectionTarget:
    """Keeps one node for all inputs."""

    def __init__(self) -> None:
        self._node: Node | None = None

    @property
    def node(self) -> Node:
        if self._node is None:
            self._node = Node()
        return self._node

    def close(self) -> None:
        if self._node is not None:
            self._node.expect_kept()
            self._node.close()
            self._node = None


class FramesTarget(ConnectionTarget):
    """Two bytes that say where to cut, then a stream of frames."""

    name = "frames"

    def seeds(self) -> dict[str, bytes]:
        frames = [
            _frame(key, HANDLERS[key].version_max, _body(key, number))
            for number, key in enumerate((18, 60, 18, 74))
        ]
        produce = request_frame(
            PRODUCE,
            9,
            produce_request("fuzz", {0: batch(b"v" * 300)}),
        )
        return {
            "one": b"\x00\x01" + frames[0],
            "read-only": b"\x00\x07" + b"".join(frames),
            "produce": b"\x01\x03" + produce + frames[0] + produce,
            "begun": b"\x00\x02" + frames[1] + frames[2][:9],
            "huge": b"\x00\x05" + struct.pack(">ihh", 2**31 - 1, 0, 9) + bytes(64),
        }

    def run(self, data: bytes) -> None:
        step, stream = int.from_bytes(data[:2], "big") % 1_000 + 1, data[2:]
        pieces = _cut(stream, step)
        whole, whole_ended = self.node.converse([stream])
        split, split_ended = self.node.converse(pieces)
        if _keys(stream) <= READ_ONLY_APIS:
            expect(whole == split, f"pieces of {step} bytes change the answers")
            expect(whole_ended == split_ended, f"pieces of {step} bytes change the end")
        self.node.took_an_input()


class RequestsTarget(ConnectionTarget):
    """Two bytes that choose API and version, then the request's body."""

    name = "request"
    kinds = tuple(
        (key, version)
        for key, handler in sorted(HANDLERS.items())
        for version in range(handler.version_min, handler.version_max + 1)
    )

    def seeds(self) -> dict[str, bytes]:
        newest = {key: number for number, (key, _) in enumerate(self.kinds)}
        return {
            f"api-{key}": number.to_bytes(2, "big") + _body(key, 0)[:2_000]
            for key, number in newest.items()
        }

    def run(self, data: bytes) -> None:
        number = int.from_bytes(data[:2], "big") % len(self.kinds)
        key, version = self.kinds[number]
        self.node.converse([_frame(key, version, data[2:]), b""])
        self.node.took_an_input()


def _frame(key: int, version: int, body: bytes) -> bytes:
    data = encode_request_header(key, version, 1, "fuzz") + body
    return struct.pack(">i", len(data)) + data


def _body(key: int, number: int) -> bytes:
    """A request of the newest version with a value in most places."""
    entity = kio_entity(key, HANDLERS[key].version_max, "request")
    return kio_bytes(KioValues(f"fuzz-{key}-{number}", 0.9).entity(entity))


def _cut(stream: bytes, step: int) -> list[bytes]:
    step = max(step, len(stream) // PIECES_MAX + 1)
    return [stream[start : start + step] for start in range(0, len(stream), step)]


def _keys(stream: bytes) -> set[int]:
    """API keys of the frames in a stream, as far as their sizes lead."""
    keys: set[int] = set()
    position = 0
    while position + 6 <= len(stream):
        size, key = struct.unpack_from(">ih", stream, position)
        keys.add(key)
        if size < 0:
            break
        position += 4 + size
    return keys


TARGETS = (FramesTarget(), RequestsTarget())

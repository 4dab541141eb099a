"""The outbox over a real socket pair: order, sendfile, back-pressure, and letting go."""

from __future__ import annotations

import asyncio
import errno
import os
import socket

import pytest

from headrace.environment.real_disk import RealDisk
from headrace.frontends.common.outbox import SENDFILE_BYTES_MIN, Outbox
from headrace.model.errors import StorageFailure


class SocketTransport:
    """As much of a transport as the outbox uses."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.aborted = False

    def get_extra_info(self, name: str) -> socket.socket:
        assert name == "socket"
        return self.socket

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        self.aborted = True


class Slice:
    """A pinned part of a file."""

    def __init__(self, file, position: int, size: int) -> None:
        self.file = file
        self.position = position
        self._size = size
        self.pins = 1  # slices arrive pinned
        self.reads = 0

    def __len__(self) -> int:
        return self._size

    def read(self) -> bytes:
        self.reads += 1
        return self.file.read_at(self.position, self._size)

    def pin(self) -> None:
        self.pins += 1

    def release(self) -> None:
        self.pins -= 1


async def read_exactly(sock: socket.socket, count: int) -> bytes:
    loop = asyncio.get_running_loop()
    data = bytearray()
    while len(data) < count:
        part = await asyncio.wait_for(loop.sock_recv(sock, 65536), 5)
        assert part, "the connection ended early"
        data += part
    return bytes(data)


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    yield ours, theirs
    ours.close()
    theirs.close()


@pytest.fixture
def big_file(tmp_path):
    content = os.urandom(3_000_000)
    path = tmp_path / "segment"
    path.write_bytes(content)
    file = RealDisk().open(str(path))
    yield file, content
    file.close()


def make_outbox(sock: socket.socket) -> tuple[Outbox, SocketTransport, list[str]]:
    transport, drained = SocketTransport(sock), []
    outbox = Outbox(asyncio.get_running_loop(), transport, lambda: drained.append("drained"))
    return outbox, transport, drained


def test_bytes_and_file_slices_leave_in_order(pair, big_file):
    file, content = big_file

    async def scenario() -> None:
        outbox, _, drained = make_outbox(pair[0])
        large = Slice(file, 10, 2_000_000)
        small = Slice(file, 5, SENDFILE_BYTES_MIN - 1)
        outbox.send([b"head", large, b"middle", small, b"tail"])
        expected = (
            b"head" + content[10:2_000_010] + b"middle" + content[5 : 5 + len(small)] + b"tail"
        )
        assert outbox.buffered_bytes > 0, "a socket does not take two megabytes at once"
        assert large.pins == 1
        assert await read_exactly(pair[1], len(expected)) == expected
        assert outbox.buffered_bytes == 0
        assert outbox.sent_bytes == len(expected)
        assert (large.pins, large.reads) == (0, 0), "sent by sendfile, then let go"
        assert small.reads == 1
        assert drained

    asyncio.run(scenario())


def test_reader_that_stops_makes_the_outbox_fill_up_and_later_drain(pair):
    async def scenario() -> None:
        outbox, _, _ = make_outbox(pair[0])
        chunk = b"x" * 100_000
        for _ in range(50):
            outbox.send([chunk])
        assert outbox.buffered_bytes > 1_000_000
        assert len(await read_exactly(pair[1], 5_000_000)) == 5_000_000
        assert outbox.buffered_bytes == 0

    asyncio.run(scenario())


def test_close_releases_files_that_were_not_sent(pair, big_file):
    async def scenario() -> None:
        outbox, _, _ = make_outbox(pair[0])
        slices = [Slice(big_file[0], 0, 2_000_000) for _ in range(3)]
        outbox.send([*slices])
        outbox.close()
        assert [s.pins for s in slices] == [0, 0, 0]
        late = Slice(big_file[0], 0, 2_000_000)
        outbox.send([b"too late", late])
        assert late.pins == 0
        assert outbox.buffered_bytes == 0

    asyncio.run(scenario())


def test_peer_that_went_away_aborts_the_connection(pair):
    async def scenario() -> None:
        outbox, transport, _ = make_outbox(pair[0])
        pair[1].close()
        outbox.send([b"anybody there?"])
        assert transport.aborted

    asyncio.run(scenario())


def test_file_that_became_shorter_aborts_instead_of_hanging(pair, big_file):
    async def scenario() -> None:
        outbox, transport, _ = make_outbox(pair[0])
        beyond = Slice(big_file[0], 2_999_000, 100_000)
        outbox.send([beyond])
        assert transport.aborted
        assert beyond.pins == 0

    asyncio.run(scenario())


def test_without_a_descriptor_the_connection_is_given_up(pair, monkeypatch: pytest.MonkeyPatch):
    """Watching takes a duplicate: who does not read while none is left is the first to go."""

    def no_descriptor_left(descriptor: int) -> int:
        raise OSError(errno.EMFILE, "too many open files")

    async def scenario() -> None:
        transport = SocketTransport(pair[0])
        outbox = Outbox(asyncio.get_running_loop(), transport, lambda: None)
        monkeypatch.setattr(os, "dup", no_descriptor_left)
        outbox.send([b"x" * 50_000_000])
        assert transport.aborted
        assert outbox.buffered_bytes == 0
        outbox.send([b"more"])
        assert outbox.buffered_bytes == 0

    asyncio.run(scenario())


def test_nobody_is_called_back_from_within_a_send(pair, big_file):
    """Whoever is told that there is room sends more: it would land between these chunks."""
    file, content = big_file

    async def scenario() -> None:
        outbox, _, drained = make_outbox(pair[0])
        outbox.send([b"before", Slice(file, 0, 40_000), b"between", Slice(file, 7, 40_000)])
        assert drained == []
        expected = b"before" + content[:40_000] + b"between" + content[7:40_007]
        assert pair[1].recv(1 << 20) == expected

    asyncio.run(scenario())


class UnreadableSlice(Slice):
    """Its disk has failed."""

    def read(self) -> bytes:
        self.reads += 1
        raise StorageFailure("cannot read the segment")


def test_an_answer_that_cannot_be_read_ends_its_connection_and_lets_go_of_the_rest(pair, big_file):
    file, _ = big_file

    async def scenario() -> None:
        outbox, transport, _ = make_outbox(pair[0])
        unreadable, next_one = UnreadableSlice(file, 0, 10), Slice(file, 0, 10)
        outbox.send([b"head", unreadable, next_one])
        assert transport.aborted
        assert (unreadable.pins, unreadable.reads) == (0, 1)
        assert (next_one.pins, next_one.reads) == (0, 0)

    asyncio.run(scenario())

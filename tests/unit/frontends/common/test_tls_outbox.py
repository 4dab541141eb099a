"""The outbox of an encrypted connection: order, pieces, back-pressure, and letting go."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest

from headrace.environment.real_disk import RealDisk
from headrace.frontends.common.tls_outbox import PIECE_BYTES, WRITE_BUFFER_BYTES_MAX, TlsOutbox

from .test_outbox import Slice

BUFFERED_BYTES_MAX = 16 * 2**20


class Transport:
    """Keeps what is written until the peer takes it; tells when it is full, as a loop's does."""

    def __init__(self) -> None:
        self.socket = socket.socket()
        self.untaken: list[bytes] = []
        self.taken = b""
        self.high = 0
        self.is_full = False
        self.is_over = False
        self.outbox: TlsOutbox

    def get_extra_info(self, name: str) -> socket.socket:
        assert name == "socket"
        return self.socket

    def set_write_buffer_limits(self, *, high: int) -> None:
        self.high = high

    def get_write_buffer_size(self) -> int:
        return sum(map(len, self.untaken))

    def is_closing(self) -> bool:
        return self.is_over

    def abort(self) -> None:
        self.is_over = True

    def write(self, data: bytes) -> None:
        self.untaken.append(bytes(data))
        if not self.is_full and self.get_write_buffer_size() > self.high:
            self.is_full = True
            self.outbox.pause_writing()

    def take_all(self) -> None:
        """The peer reads until there is nothing more."""
        while self.untaken:
            self.taken += b"".join(self.untaken)
            self.untaken.clear()
            if self.is_full:
                self.is_full = False
                self.outbox.resume_writing()


class Bench:
    def __init__(self, loop: asyncio.AbstractEventLoop, buffered_bytes_max: int) -> None:
        self.transport = Transport()
        self.drained = 0
        self.outbox = TlsOutbox(loop, self.transport, self._on_drained, buffered_bytes_max)  # type: ignore[arg-type]
        self.transport.outbox = self.outbox

    def _on_drained(self) -> None:
        self.drained += 1


@pytest.fixture
def loop():
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture
def bench(loop):
    bench = Bench(loop, BUFFERED_BYTES_MAX)
    yield bench
    bench.transport.socket.close()


@pytest.fixture
def big_file(tmp_path):
    content = os.urandom(3_000_000)
    (tmp_path / "segment").write_bytes(content)
    file = RealDisk().open(str(tmp_path / "segment"))
    yield file, content
    file.close()


def test_bytes_and_file_slices_leave_in_order(bench, big_file):
    file, content = big_file
    part = Slice(file, 10, 2_000_000)
    bench.outbox.send([b"he", b"ad", part, b"tail"])
    bench.transport.take_all()
    assert bench.transport.taken == b"head" + content[10:2_000_010] + b"tail"
    assert part.pins == 0
    assert bench.outbox.sent_bytes == len(bench.transport.taken)
    assert bench.outbox.buffered_bytes == 0


def test_small_buffers_are_encrypted_together(bench):
    bench.outbox.send([b"a", b"b", bytearray(b"c"), memoryview(b"d")])
    assert bench.transport.untaken == [b"abcd"]


def test_no_piece_is_read_while_the_peer_does_not_take_what_there_is(bench, big_file):
    file, _ = big_file
    bench.outbox.send([Slice(file, 0, 3_000_000)])
    waiting = bench.transport.get_write_buffer_size()
    assert WRITE_BUFFER_BYTES_MAX < waiting <= WRITE_BUFFER_BYTES_MAX + PIECE_BYTES
    assert bench.outbox.buffered_bytes == 3_000_000
    assert bench.drained == 0
    bench.transport.take_all()
    assert bench.drained == 1


def test_large_buffer_is_encrypted_in_pieces(bench):
    data = os.urandom(2_000_000)
    bench.outbox.send([data])
    assert max(map(len, bench.transport.untaken)) == PIECE_BYTES
    assert bench.transport.get_write_buffer_size() <= WRITE_BUFFER_BYTES_MAX + PIECE_BYTES
    bench.transport.take_all()
    assert bench.transport.taken == data


def test_who_waits_with_a_small_limit_is_told(loop):
    bench = Bench(loop, 65_536)
    bench.outbox.send([b"x" * 70_000])
    assert bench.outbox.buffered_bytes > 65_536
    bench.transport.take_all()
    assert bench.drained == 1
    bench.transport.socket.close()


def test_slice_without_a_file_is_read_at_once(bench):
    class InMemory(Slice):
        def read(self):
            return b"from memory"

    part = InMemory(None, 0, len(b"from memory"))
    bench.outbox.send([part])
    bench.transport.take_all()
    assert (bench.transport.taken, part.pins) == (b"from memory", 0)


def test_file_that_became_shorter_ends_the_connection(bench, big_file):
    part, behind = Slice(big_file[0], 2_900_000, 200_000), Slice(big_file[0], 0, 10)
    bench.outbox.send([part, behind])
    assert bench.transport.is_over
    assert (part.pins, behind.pins) == (0, 0)


def test_close_releases_files_that_were_not_sent(bench, big_file):
    slices = [Slice(big_file[0], 0, 2_000_000) for _ in range(3)]
    bench.outbox.send([*slices])
    bench.outbox.close()
    bench.outbox.close()
    assert [part.pins for part in slices] == [0, 0, 0]
    late = Slice(big_file[0], 0, 10)
    bench.outbox.send([b"too late", late])
    assert (late.pins, bench.outbox.buffered_bytes) == (0, 0)
    bench.outbox.resume_writing()
    assert bench.drained == 0


def test_stall_is_seen_only_while_nothing_is_taken(bench, monkeypatch, loop):
    now = [100.0]
    monkeypatch.setattr(loop, "time", lambda: now[0])
    assert bench.outbox.stalled_since == 100.0
    bench.outbox.send([b"x" * 2_000_000])
    now[0] = 110.0
    assert bench.outbox.stalled_since == 110.0, "it has just been sent"
    now[0] = 120.0
    assert bench.outbox.stalled_since == 110.0, "nothing was taken since"
    bench.transport.take_all()
    assert bench.outbox.stalled_since == 120.0

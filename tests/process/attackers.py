"""Clients that do harm, in a process of their own: the victim's clock is not theirs.

    python -m tests.process.attackers PORT KIND=COUNT ...

It prints ``attacking`` once all are at work, and goes on until its standard input ends. No attacker
ever waits for another: all sockets are non-blocking, one loop serves them in turn.
"""

from __future__ import annotations

import select
import socket
import struct
import sys
import time
from typing import TYPE_CHECKING

from tests.wire.calls import FETCH, PRODUCE, batch, fetch_request, produce_request
from tests.wire.raw_client import request_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TURN_SECONDS = 0.02
FRAME_BYTES = 100 * 2**20
WIDE_PARTITIONS = 104
RECORD_BYTES = 1_000_000
PIECE_BYTES = 256 * 1024
PIECES_PER_TURN = 16
FRAME_PAUSE_SECONDS = 1.0
"""Between the frames of one sender: the disk is not what is under attack."""
FETCHES_OF_A_READER = 10
CONNECT_SECONDS_MAX = 30.0
RECEIVE_BUFFER_BYTES = 4_096


class Attacker:
    """One connection; ``turn`` is called over and over and never blocks."""

    def __init__(self, port: int, receive_buffer_bytes: int = 0) -> None:
        self._port = port
        self._receive_buffer_bytes = receive_buffer_bytes
        self.connection = self._connect()

    def _connect(self) -> socket.socket:
        connection = socket.socket()
        if self._receive_buffer_bytes:
            size = self._receive_buffer_bytes
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
        connection.settimeout(CONNECT_SECONDS_MAX)
        connection.connect(("127.0.0.1", self._port))
        connection.setblocking(False)
        return connection

    def turn(self) -> None:
        """An idle one does nothing, and comes back if it is thrown out."""

    def send(self, data: memoryview | bytes) -> int:
        """How many bytes were taken; whoever is cut off begins anew."""
        try:
            return self.connection.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            self.connection.close()
            self.connection = self._connect()
            return -1


class HalfFrame(Attacker):
    """Says how long its request will be, and then nothing."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.send(struct.pack(">ihh", FRAME_BYTES, PRODUCE, 9))


class Trickler(Attacker):
    """A request byte by byte, without end."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self._bytes = self._forever()

    def _forever(self) -> Iterator[bytes]:
        frame = request_frame(FETCH, 12, fetch_request("wide", {0: 0}))
        while True:
            for byte in frame:
                yield bytes([byte])

    def turn(self) -> None:
        if self.send(next(self._bytes)) < 0:
            self._bytes = self._forever()


class DeafReader(Attacker):
    """Asks for 50 MB, ten times, and reads nothing."""

    def __init__(self, port: int) -> None:
        super().__init__(port, RECEIVE_BUFFER_BYTES)
        offsets = dict.fromkeys(range(WIDE_PARTITIONS), 0)
        request = fetch_request("wide", offsets, max_bytes=50_000_000)
        frames = request_frame(FETCH, 12, request) * FETCHES_OF_A_READER
        self.connection.setblocking(True)
        self.connection.sendall(frames)
        self.connection.setblocking(False)


class FrameSender(Attacker):
    """One Produce of just under 100 MiB after the other; it reads the answers."""

    frame = b""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        if not FrameSender.frame:
            record = batch(b"v" * RECORD_BYTES)
            batches = dict.fromkeys(range(WIDE_PARTITIONS), record)
            FrameSender.frame = request_frame(PRODUCE, 9, produce_request("wide", batches))
        self._rest = memoryview(FrameSender.frame)
        self._not_before = 0.0

    def turn(self) -> None:
        if time.monotonic() < self._not_before:
            return
        for _ in range(PIECES_PER_TURN):
            sent = self.send(self._rest[:PIECE_BYTES])
            if sent < 0:
                self._rest = memoryview(FrameSender.frame)
            if sent <= 0:
                break
            self._rest = self._rest[sent:]
        if not self._rest:
            self._rest = memoryview(FrameSender.frame)
            self._not_before = time.monotonic() + FRAME_PAUSE_SECONDS
        try:
            self.connection.recv(65_536)
        except OSError:
            return  # nothing to read, or cut off: the next turn will see


KINDS: dict[str, Callable[[int], Attacker]] = {
    "idle": Attacker,
    "half-frame": HalfFrame,
    "trickle": Trickler,
    "deaf": DeafReader,
    "frames": FrameSender,
}


def main() -> None:
    port = int(sys.argv[1])
    wanted = dict(argument.split("=") for argument in sys.argv[2:])
    attackers = [KINDS[kind](port) for kind, count in wanted.items() for _ in range(int(count))]
    busy = [attacker for attacker in attackers if isinstance(attacker, Trickler | FrameSender)]
    print("attacking", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        started = time.monotonic()
        for attacker in busy:
            attacker.turn()
        time.sleep(max(0.0, TURN_SECONDS - (time.monotonic() - started)))


if __name__ == "__main__":
    main()

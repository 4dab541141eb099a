"""A steady load from a light client: `python -m soak.freshness.load ADDRESS TOPIC PARTITIONS RATE`.

Requests are encoded once; before one is sent only the time in its batch is renewed, so every record
tells when it was sent. A connection writes one partition and has one request under way; what comes
due meanwhile follows at once. Each second a line of JSON says how far the partitions have come.
"""

from __future__ import annotations

import asyncio
import json
import random
import struct
import subprocess
import sys
import threading
import time
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import cast

import uvloop

from bench.load.frames import ProduceFrames, whole_frame_bytes
from headrace.records.build import build_batch
from headrace.records.header import MAX_TIMESTAMP_POSITION, stamp_crc
from soak.clients import ANSWER_SECONDS_MAX

VALUE_BYTES = 100
BATCH_RECORDS = 250
POOL_BATCHES = 64
"""Different ones: more than what a compressor looks back at, so that files are as large as with
records that never repeat."""
POOL_SEED = 6
RANDOM_BYTES = 24
"""Of each value; the rest is the same text in all of them."""
WAITING_BATCHES_MAX = 2_000
"""Of one connection. What comes due beyond that is left out, and counted."""
TELL_SECONDS = 1.0
BASE_TIMESTAMP_POSITION = MAX_TIMESTAMP_POSITION - 8
ROOT = Path(__file__).parents[2]

_pack_times_into = struct.Struct(">qq").pack_into


class StampedRequest:
    """One produce request, sent again and again with another time."""

    def __init__(self, frames: ProduceFrames, batch: bytes, partition: int) -> None:
        self._frame = bytearray(frames.frame(partition))
        self._position = self._frame.index(batch)
        self._size_bytes = len(batch)

    def at(self, now_ms: int) -> bytes:
        times = self._position + BASE_TIMESTAMP_POSITION
        _pack_times_into(self._frame, times, now_ms, now_ms)
        stamp_crc(self._frame, self._position, self._size_bytes)
        return bytes(self._frame)


def pool(chance: random.Random) -> list[bytes]:
    return [
        bytes(build_batch([(None, value(chance)) for _ in range(BATCH_RECORDS)], timestamp_ms=0))
        for _ in range(POOL_BATCHES)
    ]


def value(chance: random.Random) -> bytes:
    text = f'{{"token":"{chance.randbytes(RANDOM_BYTES).hex()}","state":"accepted","note":"'
    return text.ljust(VALUE_BYTES - 2, "-").encode() + b'"}'


class Connection(asyncio.Protocol):
    """Of one partition."""

    def __init__(self, topic: str, partition: int, batches: list[bytes]) -> None:
        self._frames = ProduceFrames(topic, batches[0])
        self._requests = cycle(
            StampedRequest(ProduceFrames(topic, batch), batch, partition) for batch in batches
        )
        self._received = bytearray()
        self._is_busy = False
        self._waiting = 0
        self.missed = 0
        self.end = 0
        self.failure: str | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own, which is no subclass

    def connection_lost(self, exc: Exception | None) -> None:
        self.failure = self.failure or f"the broker closed a connection: {exc}"

    def data_received(self, data: bytes) -> None:
        self._received += data
        size = whole_frame_bytes(self._received)
        if not size:
            return
        code = self._frames.error_code(self._received)
        if code:
            self.failure = f"a produce request was refused with error {code}"
            return
        self.end = self._frames.base_offset(self._received) + BATCH_RECORDS
        del self._received[:size]
        self._is_busy = False
        self._send_if_due()

    def come_due(self) -> None:
        if self._waiting >= WAITING_BATCHES_MAX:
            self.missed += 1
            return
        self._waiting += 1
        self._send_if_due()

    def _send_if_due(self) -> None:
        if self._waiting and not self._is_busy:
            self._waiting -= 1
            self._is_busy = True
            self._transport.write(next(self._requests).at(time.time_ns() // 1_000_000))


async def produce(address: str, topic: str, partitions: int, records_per_second: float) -> None:
    """Until somebody ends the process."""
    loop = asyncio.get_running_loop()
    host, port = address.rsplit(":", 1)
    batches = pool(random.Random(POOL_SEED))
    connections: list[Connection] = []
    for partition in range(partitions):
        _, made = await loop.create_connection(
            partial(Connection, topic, partition, batches), host, int(port)
        )
        connections.append(made)
    due_s = tell_s = time.monotonic()
    for connection in cycle(connections):
        connection.come_due()
        due_s += BATCH_RECORDS / records_per_second
        now_s = time.monotonic()
        if now_s >= tell_s:
            tell_s = now_s + TELL_SECONDS
            tell(connections)
        if due_s > now_s:
            await asyncio.sleep(due_s - now_s)


def tell(connections: list[Connection]) -> None:
    for connection in connections:
        if connection.failure is not None:
            raise RuntimeError(connection.failure)
    ends = [connection.end for connection in connections]
    missed = BATCH_RECORDS * sum(connection.missed for connection in connections)
    print(json.dumps({"ends": ends, "missed": missed}), flush=True)


class LoadProcess(threading.Thread):
    """The load in a process of its own; knows how far it has come."""

    def __init__(self, address: str, topic: str, partitions: int, records_per_second: int) -> None:
        super().__init__(name="load", daemon=True)
        self.ends = [0] * partitions
        self.missed = 0
        self.failures: list[str] = []
        arguments = [address, topic, str(partitions), str(records_per_second)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "soak.freshness.load", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    @property
    def acknowledged(self) -> int:
        return sum(self.ends)

    def run(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            self.ends, self.missed = told["ends"], told["missed"]

    def finish(self) -> None:
        if self._process.poll() is not None or not self.is_alive():
            self.failures.append(f"the load ended by itself with {self._process.returncode}")
        self._process.kill()
        self._process.wait(ANSWER_SECONDS_MAX)
        self.join(ANSWER_SECONDS_MAX)
        assert self._process.stdout is not None
        self._process.stdout.close()


if __name__ == "__main__":
    uvloop.run(produce(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))

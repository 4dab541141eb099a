"""Two hundred connections that produce and consume at once: how fast records come through.

A hundred pairs, each with a partition of its own: one connection produces a record and waits for
its acknowledgement, the other has a fetch parked at the end of the partition. The pair goes on when
the record was acknowledged and has arrived. The round trip is from sending to arriving.
"""

from __future__ import annotations

import asyncio
import time
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import uvloop

from bench.figures import PAGE_CACHE, Figure
from bench.load.apart import apart
from bench.load.frames import (
    FETCH,
    FETCH_VERSION,
    FetchFrame,
    ProduceFrames,
    batch_of,
    decode_answer,
    whole_frame_bytes,
)
from bench.load.topics import ensure_ready_topic
from bench.percentiles import P50, P99, percentiles

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.peers import Peer

TOPIC = "round-trips"
PAIRS = 100
SECONDS = 5.0
SECONDS_MIN = 1.0
WARM_SECONDS = 1.0
ANSWER_SECONDS_MAX = 30.0
FETCH_WAIT_MS = 500
FETCH_BYTES_MAX = 65_536
VALUE = b"x" * 100
MILLISECONDS = 1_000.0


class _Line(asyncio.Protocol):
    """A connection that hands over whole answers."""

    def __init__(self, answered: Callable[[bytes], None], lost: Callable[[], None]) -> None:
        self._answered = answered
        self._lost = lost
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's own, which is no subclass

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost()

    def data_received(self, data: bytes) -> None:
        self._received += data
        while size := whole_frame_bytes(self._received):
            answer = bytes(self._received[:size])
            del self._received[:size]
            self._answered(answer)


class _Pair:
    """A producer and a consumer of one partition."""

    def __init__(self, run: _Run, partition: int) -> None:
        self._run = run
        self._partition = partition
        self._fetch = FetchFrame(
            TOPIC, partition, max_wait_ms=FETCH_WAIT_MS, bytes_max=FETCH_BYTES_MAX
        )
        self._offset = -1
        self._sent_s = 0.0
        self._is_acknowledged = self._has_arrived = False

    async def open(self, host: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        _, self._producer = await loop.create_connection(
            lambda: _Line(self._acknowledged, self._run.lost), host, port
        )
        _, self._consumer = await loop.create_connection(
            lambda: _Line(self._fetched, self._run.lost), host, port
        )

    def close(self) -> None:
        self._producer.transport.close()
        self._consumer.transport.close()

    def send(self) -> None:
        now_s = time.perf_counter()
        if now_s >= self._run.end_s:
            self._run.one_is_idle()
            return
        # The first record only tells where the partition ends.
        self._has_arrived = self._offset < 0
        self._is_acknowledged = False
        self._sent_s = now_s
        self._producer.transport.write(self._run.frames.frame(self._partition))

    def _acknowledged(self, answer: bytes) -> None:
        if code := self._run.frames.error_code(answer):
            self._run.fail(RuntimeError(f"a produce request was refused with error {code}"))
            return
        if self._offset < 0:
            self._offset = self._run.frames.base_offset(answer) + 1
            self._ask()
        self._is_acknowledged = True
        self._next_if_done()

    def _fetched(self, answer: bytes) -> None:
        now_s = time.perf_counter()
        part = decode_answer(FETCH, FETCH_VERSION, answer).responses[0].partitions[0]
        if part.error_code:
            self._run.fail(RuntimeError(f"a fetch was refused with error {part.error_code}"))
            return
        if part.records:
            self._offset += 1
            self._has_arrived = True
            if self._sent_s >= self._run.measure_from_s:
                self._run.latencies_s.append(now_s - self._sent_s)
        if not self._run.is_over:
            self._ask()
        if part.records:
            self._next_if_done()

    def _ask(self) -> None:
        self._consumer.transport.write(self._fetch.at(self._offset))

    def _next_if_done(self) -> None:
        if self._is_acknowledged and self._has_arrived:
            self.send()


class _Run:
    """What the pairs share."""

    def __init__(self, pairs: int, seconds: float, warm_seconds: float) -> None:
        self.frames = ProduceFrames(TOPIC, batch_of(VALUE))
        self.latencies_s: array[float] = array("d")
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.measure_from_s = self.end_s = 0.0
        self._seconds = seconds
        self._warm_seconds = warm_seconds
        self._active = pairs

    def begin(self) -> None:
        """All connections are open: the time counts from here."""
        self.measure_from_s = time.perf_counter() + self._warm_seconds
        self.end_s = self.measure_from_s + self._seconds

    @property
    def is_over(self) -> bool:
        return self.done.done()

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)

    def lost(self) -> None:
        self.fail(ConnectionError("the broker closed a connection"))

    def one_is_idle(self) -> None:
        self._active -= 1
        if not self._active and not self.done.done():
            self.done.set_result(None)


def exchange(
    address: str, pairs: int, seconds: float, warm_seconds: float
) -> tuple[float, dict[str, float]]:
    """(records per second through all pairs, percentiles of the round trip in seconds)"""
    return uvloop.run(_exchange(address, pairs, seconds, warm_seconds))


async def _exchange(
    address: str, pairs: int, seconds: float, warm_seconds: float
) -> tuple[float, dict[str, float]]:
    host, port = address.rsplit(":", 1)
    run = _Run(pairs, seconds, warm_seconds)
    opened: list[_Pair] = []
    try:
        for partition in range(pairs):
            pair = _Pair(run, partition)
            await pair.open(host, int(port))
            opened.append(pair)
        run.begin()
        for pair in opened:
            pair.send()
        await asyncio.wait_for(run.done, seconds + warm_seconds + ANSWER_SECONDS_MAX)
        rate = len(run.latencies_s) / (time.perf_counter() - run.measure_from_s)
        return rate, percentiles(run.latencies_s)
    finally:
        for pair in opened:
            pair.close()


@dataclass(frozen=True)
class RoundTrips:
    """All pairs as fast as they can."""

    name: str = "200-connections"
    title: str = "200 connections produce and consume at once"
    durability: str = PAGE_CACHE
    figures: tuple[Figure, ...] = (
        Figure("rate", "records/s", "higher"),
        Figure("round trip p50", "ms", "lower"),
        Figure("round trip p99", "ms", "lower"),
    )
    rounds_max: int = 3
    writes_bulk: bool = False
    is_quick: bool = False

    def run(self, peer: Peer, scale: float) -> dict[str, float]:
        ensure_ready_topic(peer, TOPIC, PAIRS)
        rate, trips_s = apart(
            exchange, peer.bootstrap_servers, PAIRS, max(SECONDS * scale, SECONDS_MIN), WARM_SECONDS
        )
        return {
            "rate": rate,
            "round trip p50": trips_s[P50] * MILLISECONDS,
            "round trip p99": trips_s[P99] * MILLISECONDS,
        }

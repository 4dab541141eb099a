"""Producers that each have one request under way: the next goes out when the last is answered.

One uvloop thread serves all of them, at some ten microseconds per request: 32 producers here cost
less than 32 threads or 32 librdkafka instances, each of which would compete with the broker for
the two or four cores of a small machine.
"""

from __future__ import annotations

import asyncio
import time
from array import array
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, cast

import uvloop

from .frames import ProduceFrames, whole_frame_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ANSWER_SECONDS_MAX = 60.0
CONNECTIONS_MAX = 1_000
RETRY_AFTER_SECONDS = 0.01
RETRY_SECONDS_MAX = 30.0
NOT_YET = (3, 6)
"""UNKNOWN_TOPIC_OR_PARTITION and NOT_LEADER_OR_FOLLOWER: refreshed and sent again by clients."""


Target = tuple[ProduceFrames, int]
"""A topic with what is put into it, and a partition."""


def all_partitions(frames: ProduceFrames, partitions: int) -> list[Target]:
    return [(frames, partition) for partition in range(partitions)]


@dataclass
class Outcome:
    """What a load did: requests that were answered, in how much time, and each one's latency."""

    requests: int
    seconds: float
    latencies_s: array[float] = field(default_factory=lambda: array("d"))

    @property
    def requests_per_second(self) -> float:
        return self.requests / self.seconds


@dataclass(frozen=True)
class Load:
    """How many connections, to which partitions in turn, and when it is enough."""

    targets: Sequence[Target]
    connections: int
    seconds: float
    requests_max: int = 1 << 62
    warm_seconds: float = 0.0
    """Answers in this first part are not counted; it comes on top of `seconds`."""


class _State:
    """What the connections of one load share."""

    def __init__(self, load: Load, done: asyncio.Future[None]) -> None:
        self.targets: Iterator[Target] = cycle(load.targets)
        self.done = done
        self.latencies_s: array[float] = array("d")
        self.measure_from_s = self.end_s = 0.0
        self.unsent = load.requests_max
        self.active = load.connections

    def begin(self, load: Load) -> None:
        """All connections are open: the time counts from here."""
        self.measure_from_s = time.perf_counter() + load.warm_seconds
        self.end_s = self.measure_from_s + load.seconds

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)

    def one_is_idle(self) -> None:
        self.active -= 1
        if not self.active and not self.done.done():
            self.done.set_result(None)


class _Producer(asyncio.Protocol):
    """One connection."""

    def __init__(self, state: _State) -> None:
        self._state = state
        self._received = bytearray()
        self._sent_s = 0.0
        self._frames: ProduceFrames | None = None
        self._partition = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own, which is no subclass

    def connection_lost(self, exc: Exception | None) -> None:
        self._state.fail(ConnectionError(f"the broker closed a connection: {exc}"))

    def data_received(self, data: bytes) -> None:
        now_s = time.perf_counter()
        self._received += data
        size = whole_frame_bytes(self._received)
        if not size:
            return
        state = self._state
        assert self._frames is not None, "an answer that nobody asked for"
        code = self._frames.error_code(self._received)
        del self._received[:size]
        if code:
            self._refused(code)
            return
        if self._sent_s >= state.measure_from_s:
            state.latencies_s.append(now_s - self._sent_s)
        self.send()

    def close(self) -> None:
        self._transport.close()

    def send(self) -> None:
        state = self._state
        now_s = time.perf_counter()
        if now_s >= state.end_s or state.unsent <= 0:
            state.one_is_idle()
            return
        state.unsent -= 1
        self._sent_s = now_s
        self._frames, self._partition = next(state.targets)
        self._write()

    def _write(self) -> None:
        assert self._frames is not None
        self._transport.write(self._frames.frame(self._partition))

    def _refused(self, code: int) -> None:
        """Once more if a client would: a broker may list a partition before it takes records."""
        if code in NOT_YET and time.perf_counter() < self._sent_s + RETRY_SECONDS_MAX:
            asyncio.get_running_loop().call_later(RETRY_AFTER_SECONDS, self._write)
        else:
            self._state.fail(RuntimeError(f"a produce request was refused with error {code}"))


def run_load(address: str, load: Load) -> Outcome:
    """Open the connections, keep each busy until it is enough, close them."""
    return uvloop.run(_run(address, load))


async def _run(address: str, load: Load) -> Outcome:
    if load.connections > CONNECTIONS_MAX:
        raise ValueError(f"{load.connections} connections: at most {CONNECTIONS_MAX}")
    loop = asyncio.get_running_loop()
    host, port = address.rsplit(":", 1)
    producers: list[_Producer] = []
    done: asyncio.Future[None] = loop.create_future()
    state = _State(load, done)
    try:
        for _ in range(load.connections):
            _, producer = await loop.create_connection(lambda: _Producer(state), host, int(port))
            producers.append(producer)
        state.begin(load)
        for producer in producers:
            producer.send()
        limit_s = load.warm_seconds + load.seconds + ANSWER_SECONDS_MAX
        await asyncio.wait_for(done, limit_s)
        seconds = time.perf_counter() - state.measure_from_s
        return Outcome(len(state.latencies_s), seconds, state.latencies_s)
    finally:
        for producer in producers:
            producer.close()

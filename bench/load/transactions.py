"""Transactional producers without a client library: begin, send, commit, and again.

Sixteen librdkafka or Java producers need more of a small machine than the brokers that they ask, so
they measure themselves. These share one uvloop thread. They wait as real clients do: a request
goes out when the one before is answered, and what may be tried again is tried again after the
pause that Kafka's own client makes. Any other error ends the load.

A lone producer can be too fast for Kafka: it begins before the markers of the transaction before
are written, and then Kafka or its client waits for 20 ms, which a real client, being slower, mostly
escapes. So a load may be paced: in the warm-up it finds out after which pause between transactions
the broker, whichever it is, commits the most, and that one is kept.
"""

from __future__ import annotations

import asyncio
import os
import time
from array import array
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import uvloop

from bench.load.frames import whole_frame_bytes
from bench.load.transaction_frames import GENERATIONS, Contents, TransactionFrames
from bench.percentiles import P50, P99, percentiles
from tests.process.resources import cpu_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ANSWER_SECONDS_MAX = 60.0
PRODUCERS_MAX = 1_000
MILLISECONDS = 1_000.0
MICROSECONDS = 1_000_000.0
SEQUENCES = 1 << 31

CONCURRENT_TRANSACTIONS = 51
RETRIABLE = frozenset({3, 6, 14, 15, 16, CONCURRENT_TRANSACTIONS})
"""Not there yet, loading, moved; and the transaction before is not finished."""
RETRY_AFTER_SECONDS = 0.1
"""Kafka's ``retry.backoff.ms``."""
RETRY_BEGIN_AFTER_SECONDS = 0.02
"""Kafka's client waits no longer where the first partition of a transaction comes too early."""
RETRY_SECONDS_MAX = 30.0
PAUSES_SECONDS = (0.0, 0.001, 0.002, 0.004)
"""Those that a paced load tries between two transactions; the loop's timers know no less."""
PAUSE_GAIN_MIN = 1.1
"""A longer pause must commit so many times as much, or the shorter one is kept."""

BROKER_CPU = "broker CPU"
CLIENT_CPU = "client CPU"
RETRIES = "retries"
PAUSE = "pause"


class Refused(RuntimeError):
    """A broker answered with an error that no client would try again."""


@dataclass(frozen=True)
class TransactionLoad:
    """How many producers do what, for how long."""

    topic: str
    partitions: int
    producers: int
    records: int
    size: int
    warm_seconds: float
    """Transactions that begin in this first part are not counted."""
    seconds: float
    label: str
    """In front of the transactional ids."""
    generation: int
    is_paced: bool = False

    def frames(self, number: int) -> TransactionFrames:
        contents = Contents(self.topic, number % self.partitions, b"x" * self.size, self.records)
        now_ms = int(time.time() * 1_000)
        generation = GENERATIONS[self.generation]
        return TransactionFrames(f"{self.label}-{number}", contents, generation, now_ms)


@dataclass
class _Shared:
    """What the producers of one load know together."""

    done: asyncio.Future[None]
    active: int
    adds_partitions: bool
    durations_s: array[float] = field(default_factory=lambda: array("d"))
    from_s: float = 0.0
    until_s: float = 0.0
    pause_s: float = 0.0
    retries: int = 0
    committed: int = 0
    """In all, those of the warm-up too."""

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)

    def one_is_idle(self) -> None:
        self.active -= 1
        if not self.active and not self.done.done():
            self.done.set_result(None)


class _Producer(asyncio.Protocol):
    """One connection with one transaction under way."""

    def __init__(self, frames: TransactionFrames, shared: _Shared) -> None:
        self._frames = frames
        self._shared = shared
        self._received = bytearray()
        self._producer_id = self._epoch = -1
        self._sequence = 0
        self._begun_s = self._sent_s = 0.0
        self._request = b""
        self._error_in: Callable[[bytes], int]
        self._next: Callable[[], None]
        self.is_ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own, which is no subclass

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(ConnectionError(f"the broker closed a connection: {exc}"))

    def data_received(self, data: bytes) -> None:
        self._received += data
        size = whole_frame_bytes(self._received)
        if not size:
            return
        answer = bytes(self._received[:size])
        del self._received[:size]
        try:
            code = self._error_in(answer)
        except Exception as error:
            self._fail(error)
            return
        if code:
            self._refused(code)
        else:
            self._next()

    def close(self) -> None:
        self._transport.close()

    # --- the steps of a producer ----------------------------------------------------------------

    def prepare(self) -> None:
        """Find the coordinator, which makes its topic if there is none, and become a producer."""
        frames = self._frames
        self._ask(frames.find_coordinator, frames.coordinator_error, self._init)

    def begin(self) -> None:
        shared = self._shared
        now_s = time.perf_counter()
        if now_s >= shared.until_s:
            shared.one_is_idle()
            return
        self._begun_s = now_s
        if not shared.adds_partitions:
            self._produce()
            return
        frames = self._frames
        request = frames.add_partitions.of(self._producer_id, self._epoch)
        self._ask(request, frames.add_partitions_error, self._produce)

    def _init(self) -> None:
        self._ask(self._frames.init_producer_id, self._take_identity, self._ready)

    def _take_identity(self, answer: bytes) -> int:
        code, self._producer_id, self._epoch = self._frames.identity(answer)
        return code

    def _ready(self) -> None:
        self.is_ready.set_result(None)

    def _produce(self) -> None:
        frames = self._frames
        request = frames.produce(self._producer_id, self._epoch, self._sequence)
        self._ask(request, frames.produce_error, self._commit)

    def _commit(self) -> None:
        self._sequence = (self._sequence + self._frames.records) % SEQUENCES
        request = self._frames.commit.of(self._producer_id, self._epoch)
        self._ask(request, self._take_new_identity, self._committed)

    def _take_new_identity(self, answer: bytes) -> int:
        code, producer_id, epoch = self._frames.end_identity(answer)
        if not code and producer_id >= 0:
            self._producer_id, self._epoch, self._sequence = producer_id, epoch, 0
        return code

    def _committed(self) -> None:
        shared = self._shared
        shared.committed += 1
        now_s = time.perf_counter()
        if self._begun_s >= shared.from_s and now_s <= shared.until_s:
            shared.durations_s.append(now_s - self._begun_s)
        if shared.pause_s:
            asyncio.get_running_loop().call_later(shared.pause_s, self.begin)
        else:
            self.begin()

    # --- requests -------------------------------------------------------------------------------

    def _ask(
        self, request: bytes, error_in: Callable[[bytes], int], then: Callable[[], None]
    ) -> None:
        self._request, self._error_in, self._next = request, error_in, then
        self._sent_s = time.perf_counter()
        self._transport.write(request)

    def _refused(self, code: int) -> None:
        if code not in RETRIABLE or time.perf_counter() > self._sent_s + RETRY_SECONDS_MAX:
            self._fail(Refused(f"a request of a transaction was refused with error {code}"))
            return
        self._shared.retries += 1
        is_begin = code == CONCURRENT_TRANSACTIONS and self._next == self._produce
        pause_s = RETRY_BEGIN_AFTER_SECONDS if is_begin else RETRY_AFTER_SECONDS
        asyncio.get_running_loop().call_later(pause_s, self._transport.write, self._request)

    def _fail(self, error: Exception) -> None:
        if not self.is_ready.done():
            self.is_ready.set_exception(error)
        else:
            self._shared.fail(error)


class _Costs:
    """CPU seconds of broker and client, and what was done, at one time."""

    def __init__(self, pid: int | None, shared: _Shared) -> None:
        self.broker_s = 0.0 if pid is None else cpu_seconds(pid)
        self.client_s = sum(os.times()[:2])
        self.committed = shared.committed
        self.retries = shared.retries


def light_transactions(
    bootstrap_servers: str, pid: int | None = None, **load: Any
) -> dict[str, float]:
    """A load of ``bench.clients``; the others are the fields of a TransactionLoad."""
    return run_transactions(bootstrap_servers, TransactionLoad(**load), pid)


def run_transactions(address: str, load: TransactionLoad, pid: int | None) -> dict[str, float]:
    """Transactions per second, their durations in milliseconds, the CPU time of each in
    microseconds, how many requests of each had to be sent again, and the pause between them."""
    if load.producers > PRODUCERS_MAX:
        raise ValueError(f"{load.producers} producers: at most {PRODUCERS_MAX}")
    return uvloop.run(_run(address, load, pid))


async def _run(address: str, load: TransactionLoad, pid: int | None) -> dict[str, float]:
    loop = asyncio.get_running_loop()
    host, port = address.rsplit(":", 1)
    adds_partitions = GENERATIONS[load.generation].adds_partitions
    shared = _Shared(loop.create_future(), load.producers, adds_partitions)
    producers: list[_Producer] = []
    try:
        for number in range(load.producers):
            frames = load.frames(number)
            _, producer = await loop.create_connection(
                partial(_Producer, frames, shared), host, int(port)
            )
            producers.append(producer)
            producer.prepare()
            await asyncio.wait_for(producer.is_ready, ANSWER_SECONDS_MAX)
        shared.from_s = time.perf_counter() + load.warm_seconds
        shared.until_s = shared.from_s + load.seconds
        for producer in producers:
            producer.begin()
        if load.is_paced:
            await _find_pace(shared, load.warm_seconds)
        else:
            await asyncio.wait((shared.done,), timeout=load.warm_seconds)
        before = _Costs(pid, shared)
        await asyncio.wait_for(shared.done, load.seconds + ANSWER_SECONDS_MAX)
        return _figures(load, shared, before, _Costs(pid, shared))
    finally:
        for producer in producers:
            producer.close()


async def _find_pace(shared: _Shared, seconds: float) -> None:
    """Try each pause for a part of the time, after a first part that is not looked at."""
    part_s = seconds / (len(PAUSES_SECONDS) + 1)
    await asyncio.wait((shared.done,), timeout=part_s)
    committed = []
    for pause_s in PAUSES_SECONDS:
        shared.pause_s = pause_s
        before = shared.committed
        await asyncio.wait((shared.done,), timeout=part_s)
        committed.append(shared.committed - before)
    shared.pause_s = best_pause(committed)


def best_pause(committed: Sequence[int]) -> float:
    """Of those tried, by how much was committed with each."""
    best = 0
    for number, count in enumerate(committed):
        if count > committed[best] * PAUSE_GAIN_MIN:
            best = number
    return PAUSES_SECONDS[best]


def _figures(
    load: TransactionLoad, shared: _Shared, before: _Costs, after: _Costs
) -> dict[str, float]:
    shares_s = percentiles(shared.durations_s)
    count = max(1, after.committed - before.committed)
    return {
        "rate": len(shared.durations_s) / load.seconds,
        P50: shares_s[P50] * MILLISECONDS,
        P99: shares_s[P99] * MILLISECONDS,
        BROKER_CPU: (after.broker_s - before.broker_s) / count * MICROSECONDS,
        CLIENT_CPU: (after.client_s - before.client_s) / count * MICROSECONDS,
        RETRIES: (after.retries - before.retries) / count,
        PAUSE: shared.pause_s * MILLISECONDS,
    }

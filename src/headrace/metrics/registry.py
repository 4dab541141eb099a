"""Counts and times as plain numbers on plain objects.

The hot path does ``counters.bytes_in += n`` on an object that it looked up once; nothing here
locks, formats or knows Prometheus. What is cheaper to ask than to count (log sizes, lag) is a
callback that runs only when somebody scrapes.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TIME_BOUNDS_SECONDS = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
)
ERROR_NAMES_MAX = 1_000


class Histogram:
    """How many observations fell into each bucket; one bisection per observation."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...] = TIME_BOUNDS_SECONDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        """Not cumulative; the last one is beyond all bounds."""
        self.total = 0.0

    def observe(self, value: float) -> None:
        # A bound belongs to its bucket ("le"), hence the left bisection.
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        return sum(self.counts)


class TopicCounters:
    """What went in and out of one topic; "in" is what producers sent."""

    __slots__ = (
        "batches_in",
        "batches_out",
        "bytes_in",
        "bytes_out",
        "records_in",
        "records_out",
        "rejected_batches",
    )

    def __init__(self) -> None:
        self.bytes_in = 0
        self.records_in = 0
        self.batches_in = 0
        self.bytes_out = 0
        self.records_out = 0
        self.batches_out = 0
        self.rejected_batches = 0


class ApiCounters:
    """Times of one kind of request, from its last byte in to its answer queued."""

    __slots__ = ("bytes_in", "bytes_out", "seconds")

    def __init__(self) -> None:
        self.bytes_in = 0
        self.bytes_out = 0
        self.seconds = Histogram()


class ConnectionCounters:
    """Connections of one listener."""

    __slots__ = ("accepted", "open", "refused")

    def __init__(self) -> None:
        self.accepted = 0
        self.open = 0
        self.refused = 0
        """Closed at once because a limit was reached."""


class StorageCounters:
    """Work of the storage as a whole."""

    __slots__ = (
        "bytes_compacted",
        "segment_sync_seconds",
        "segments_deleted",
        "segments_rolled",
        "wal_bytes",
        "wal_frames",
        "wal_sync_seconds",
    )

    def __init__(self) -> None:
        self.wal_frames = 0
        self.wal_bytes = 0
        self.wal_sync_seconds = Histogram()
        self.segment_sync_seconds = Histogram()
        self.segments_rolled = 0
        self.segments_deleted = 0
        self.bytes_compacted = 0


class LogSample(NamedTuple):
    """One partition at scrape time."""

    topic: str
    partition: int
    size_bytes: int
    start_offset: int
    end_offset: int


class LagSample(NamedTuple):
    """One partition of one group at scrape time."""

    group: str
    topic: str
    partition: int
    committed_offset: int
    lag_records: int


class GroupSample(NamedTuple):
    """One group at scrape time."""

    group: str
    kind: str
    members: int


def _no_logs() -> Iterable[LogSample]:
    return ()


def _no_lags() -> Iterable[LagSample]:
    return ()


def _no_groups() -> Iterable[GroupSample]:
    return ()


def _zero() -> int:
    return 0


class Metrics:
    """All numbers of one broker; several brokers can live in one process, each with its own."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicCounters] = {}
        self.apis: dict[str, ApiCounters] = {}
        self.errors: dict[tuple[str, str], int] = {}
        self.connections: dict[str, ConnectionCounters] = {}
        self.disconnections: dict[str, int] = {}
        self.storage = StorageCounters()
        self.logs: Callable[[], Iterable[LogSample]] = _no_logs
        self.lags: Callable[[], Iterable[LagSample]] = _no_lags
        self.groups: Callable[[], Iterable[GroupSample]] = _no_groups
        self.parked_fetches: Callable[[], int] = _zero
        self.fetch_sessions: Callable[[], int] = _zero
        self.open_segment_files: Callable[[], int] = _zero
        self.wal_size_bytes: Callable[[], int] = _zero

    def topic(self, name: str) -> TopicCounters:
        """The topic's counters; keep the object rather than ask for every request."""
        counters = self.topics.get(name)
        if counters is None:
            counters = self.topics[name] = TopicCounters()
        return counters

    def forget_topic(self, name: str) -> None:
        """A deleted topic must not be reported for ever."""
        self.topics.pop(name, None)

    def api(self, name: str) -> ApiCounters:
        """``name`` is a name such as Produce; keep the object."""
        counters = self.apis.get(name)
        if counters is None:
            counters = self.apis[name] = ApiCounters()
        return counters

    def listener(self, url: str) -> ConnectionCounters:
        counters = self.connections.get(url)
        if counters is None:
            counters = self.connections[url] = ConnectionCounters()
        return counters

    def count_error(self, api: str, error: str) -> None:
        """An answer with an error; names come from our own tables, the limit is a safeguard."""
        key = (api, error)
        if key in self.errors or len(self.errors) < ERROR_NAMES_MAX:
            self.errors[key] = self.errors.get(key, 0) + 1

    def count_disconnection(self, reason: str) -> None:
        """``reason`` is a fixed word: client, idle, stalled, malformed, too-large, shutdown."""
        if reason in self.disconnections or len(self.disconnections) < ERROR_NAMES_MAX:
            self.disconnections[reason] = self.disconnections.get(reason, 0) + 1

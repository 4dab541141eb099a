"""Counts and times as plain numbers on plain objects.

The hot path does ``counters.bytes_in += n`` on an object that it looked up once; nothing here
locks, formats or knows Prometheus. What is cheaper to ask than to count (log sizes, lag) is a
callback that runs only when somebody scrapes.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

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

    __slots__ = ("batches_in", "bytes_in", "bytes_out", "records_in")

    def __init__(self) -> None:
        self.bytes_in = 0
        self.records_in = 0
        self.batches_in = 0
        self.bytes_out = 0


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


class TransactionCounters:
    """How transactions ended, and whom the coordinator sent away."""

    __slots__ = ("aborted", "committed", "producers_fenced", "timed_out")

    def __init__(self) -> None:
        self.committed = 0
        self.aborted = 0
        """By their producers, or by the one that took over."""
        self.timed_out = 0
        self.producers_fenced = 0

    def by_result(self) -> dict[str, int]:
        return {
            "committed": self.committed,
            "aborted": self.aborted,
            "timed_out": self.timed_out,
        }


class OpenTransactions(NamedTuple):
    """The transactions that have not ended, at scrape time."""

    by_state: Mapping[str, int]
    oldest_seconds: float
    """0: there is none."""


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


def _no_transactions() -> OpenTransactions:
    return OpenTransactions({}, 0.0)


def _zero() -> int:
    return 0


class Metrics:
    """All numbers of one broker; several brokers can live in one process, each with its own."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicCounters] = {}
        self.requests: dict[int, Histogram] = {}
        """Seconds by API key, from the last byte of a request to its answer queued."""
        self.api_names: dict[int, str] = {}
        """What to call the keys; a front end fills it."""
        self.produce_errors = 0
        self.throttled_requests: dict[str, int] = {}
        """By the name of the quota."""
        self.throttle_seconds: dict[str, float] = {}
        self.connections_opened = 0
        self.connections_closed = 0
        self.connections_refused = 0
        self.connections_cut_off = 0
        self.authentications_failed = 0
        self.storage = StorageCounters()
        self.transactions = TransactionCounters()
        self.logs: Callable[[], Iterable[LogSample]] = _no_logs
        self.lags: Callable[[], Iterable[LagSample]] = _no_lags
        self.groups: Callable[[], Iterable[GroupSample]] = _no_groups
        self.open_transactions: Callable[[], OpenTransactions] = _no_transactions
        self.parked_fetches: Callable[[], int] = _zero
        self.fetch_sessions: Callable[[], int] = _zero
        self.uncleanable_logs: Callable[[], int] = _zero
        self.open_segment_files: Callable[[], int] = _zero
        self.wal_size_bytes: Callable[[], int] = _zero
        self.table_topics: Callable[[], int] = _zero
        self.table_processes: Callable[[], int] = _zero
        self.table_process_restarts: Callable[[], int] = _zero

    def topic(self, name: str) -> TopicCounters:
        """The topic's counters; whoever needs them often keeps the object."""
        counters = self.topics.get(name)
        if counters is None:
            counters = self.topics[name] = TopicCounters()
        return counters

    def forget_topic(self, name: str) -> None:
        """A deleted topic must not be reported for ever."""
        self.topics.pop(name, None)

    def count_produced(self, topic: str, size_bytes: int, records: int) -> None:
        """One batch was written."""
        counters = self.topics.get(topic) or self.topic(topic)
        counters.bytes_in += size_bytes
        counters.records_in += records
        counters.batches_in += 1

    def count_fetched(self, topic: str, size_bytes: int) -> None:
        """Batches were sent to a consumer, unopened: nobody knows how many records they hold."""
        counters = self.topics.get(topic) or self.topic(topic)
        counters.bytes_out += size_bytes

    def count_throttled(self, quota: str, throttle_ms: int) -> None:
        """A client was told to wait. There are five quotas."""
        self.throttled_requests[quota] = self.throttled_requests.get(quota, 0) + 1
        seconds = self.throttle_seconds.get(quota, 0.0)
        self.throttle_seconds[quota] = seconds + throttle_ms / 1000

    def request_histogram(self, api_key: int) -> Histogram:
        """Of one API; whoever needs it often keeps it. The keys are those of our own handlers."""
        histogram = self.requests.get(api_key)
        if histogram is None:
            histogram = self.requests[api_key] = Histogram()
        return histogram

    def observe_request(self, api_key: int, seconds: float) -> None:
        """One request was answered."""
        self.request_histogram(api_key).observe(seconds)

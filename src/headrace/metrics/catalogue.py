"""The names of all metrics, each once: kind, labels and what it means. Units are in the names."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class MetricKind(Enum):
    """Prometheus' types. A counter's samples end in ``_total``."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(NamedTuple):
    """One metric. ``name`` is the full name of a sample of it, except for histograms."""

    name: str
    kind: MetricKind
    help: str
    labels: tuple[str, ...] = ()


def _counter(name: str, help: str, *labels: str) -> Metric:
    return Metric(name, MetricKind.COUNTER, help, labels)


def _gauge(name: str, help: str, *labels: str) -> Metric:
    return Metric(name, MetricKind.GAUGE, help, labels)


def _histogram(name: str, help: str, *labels: str) -> Metric:
    return Metric(name, MetricKind.HISTOGRAM, help, labels)


BUILD_INFO = _gauge("headrace_build_info", "Always 1; the version is a label.", "version")

TOPIC_BYTES_IN = _counter(
    "headrace_topic_bytes_in_total", "Bytes of batches that were written.", "topic"
)
TOPIC_RECORDS_IN = _counter(
    "headrace_topic_records_in_total", "Records that were written.", "topic"
)
TOPIC_BATCHES_IN = _counter(
    "headrace_topic_batches_in_total", "Batches that were written.", "topic"
)
TOPIC_BYTES_OUT = _counter(
    "headrace_topic_bytes_out_total", "Bytes of batches sent to consumers.", "topic"
)
REQUEST_SECONDS = _histogram(
    "headrace_request_seconds",
    "Time from the last byte of a request to its answer, waiting on purpose included.",
    "api",
)
PRODUCE_ERRORS = _counter("headrace_produce_errors_total", "Batches that were refused.")
THROTTLED_REQUESTS = _counter(
    "headrace_throttled_requests_total",
    "Requests and new connections whose client was told to wait, by the quota it exceeded.",
    "quota",
)
THROTTLE_SECONDS = _counter(
    "headrace_throttle_seconds_total", "How long these clients were told to wait.", "quota"
)

CONNECTIONS_OPEN = _gauge("headrace_connections_open", "Connections right now.")
CONNECTIONS_OPENED = _counter("headrace_connections_opened_total", "Connections accepted.")
CONNECTIONS_REFUSED = _counter(
    "headrace_connections_refused_total", "Connections closed at once, because of a limit."
)
CONNECTIONS_CUT_OFF = _counter(
    "headrace_connections_cut_off_total",
    "Connections ended because of what the client did: idle, stalled, malformed, too large.",
)
AUTHENTICATIONS_FAILED = _counter(
    "headrace_authentications_failed_total", "TLS handshakes and log-ins that failed."
)
PARKED_FETCHES = _gauge("headrace_parked_fetches", "Fetches that wait for records.")
FETCH_SESSIONS = _gauge("headrace_fetch_sessions", "Fetch sessions in the cache.")

WAL_FRAMES = _counter("headrace_wal_frames_total", "Frames written to the write-ahead log.")
WAL_BYTES = _counter("headrace_wal_bytes_total", "Bytes written to the write-ahead log.")
WAL_SIZE_BYTES = _gauge("headrace_wal_size_bytes", "Size of the files of the write-ahead log.")
WAL_SYNC_SECONDS = _histogram(
    "headrace_wal_sync_seconds", "Time of one fsync of the write-ahead log."
)
SEGMENT_SYNC_SECONDS = _histogram(
    "headrace_segment_sync_seconds", "Time of one fsync of a segment's file."
)
SEGMENTS_ROLLED = _counter("headrace_segments_rolled_total", "Segments that were closed.")
SEGMENTS_DELETED = _counter(
    "headrace_segments_deleted_total", "Segments deleted by retention or on a client's demand."
)
BYTES_COMPACTED = _counter("headrace_compacted_bytes_total", "Bytes that compaction has read.")
UNCLEANABLE_LOGS = _gauge(
    "headrace_uncleanable_logs", "Logs that are damaged, so that compaction leaves them alone."
)
OPEN_SEGMENT_FILES = _gauge("headrace_open_segment_files", "Segment files that are open.")

LOG_SIZE_BYTES = _gauge(
    "headrace_log_size_bytes", "Size of a partition's log.", "topic", "partition"
)
LOG_START_OFFSET = _gauge(
    "headrace_log_start_offset", "First offset that can be read.", "topic", "partition"
)
LOG_END_OFFSET = _gauge(
    "headrace_log_end_offset", "Offset of the next record.", "topic", "partition"
)

GROUP_MEMBERS = _gauge("headrace_group_members", "Members of a group.", "group", "kind")
GROUP_COMMITTED_OFFSET = _gauge(
    "headrace_group_committed_offset", "Committed offset.", "group", "topic", "partition"
)
GROUP_LAG_RECORDS = _gauge(
    "headrace_group_lag_records",
    "Offsets between a group's commit and the end of the log.",
    "group",
    "topic",
    "partition",
)

TRANSACTIONS_OPEN = _gauge(
    "headrace_transactions_open", "Transactions that have not ended, by their state.", "state"
)
TRANSACTION_OLDEST_OPEN_SECONDS = _gauge(
    "headrace_transaction_oldest_open_seconds",
    "Age of the oldest of them; readers of committed records may wait for it.",
)
TRANSACTIONS_ENDED = _counter(
    "headrace_transactions_ended_total",
    "Transactions that ended: committed, aborted or timed_out.",
    "result",
)
PRODUCERS_FENCED = _counter(
    "headrace_producers_fenced_total",
    "Requests of producers that were replaced, or whose transaction had timed out.",
)

TABLE_TOPICS = _gauge("headrace_table_topics", "Topics that are to be kept as tables.")
TABLE_PROCESSES = _gauge(
    "headrace_table_processes", "Processes that keep them: 1, or 0 if it does not run."
)
TABLE_PROCESS_RESTARTS = _counter(
    "headrace_table_process_restarts_total", "How often that process ended and was started again."
)

CATALOGUE: dict[str, Metric] = {
    metric.name: metric for metric in tuple(globals().values()) if isinstance(metric, Metric)
}

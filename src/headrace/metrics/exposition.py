"""Prometheus' text format, made from the plain numbers when somebody scrapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from headrace.metrics import catalogue
from headrace.metrics.catalogue import Metric, MetricKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prometheus_client.metrics_core import Metric as Family

    from headrace.metrics.registry import Histogram, Metrics

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

Sample = tuple[tuple[str, ...], float]


class Exposition:
    """Renders the metrics of one broker, and those of the process it runs in."""

    def __init__(self, metrics: Metrics, version: str) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(BrokerCollector(metrics, version))
        ProcessCollector(registry=self._registry)

    def render(self) -> bytes:
        """One scrape; its content type is ``CONTENT_TYPE``."""
        return generate_latest(self._registry)


class BrokerCollector(Collector):
    """Turns plain numbers into metric families."""

    def __init__(self, metrics: Metrics, version: str) -> None:
        self._metrics = metrics
        self._version = version

    def collect(self) -> Iterator[Family]:
        yield _family(catalogue.BUILD_INFO, [((self._version,), 1)])
        yield from self._collect_topics()
        yield from self._collect_requests()
        yield from self._collect_quotas()
        yield from self._collect_connections()
        yield from self._collect_storage()
        yield from self._collect_logs()
        yield from self._collect_groups()
        yield from self._collect_transactions()
        yield from self._collect_tables()

    def _collect_topics(self) -> Iterator[Family]:
        topics = self._metrics.topics
        for metric, attribute in _TOPIC_ATTRIBUTES:
            yield _family(
                metric, [((name,), getattr(each, attribute)) for name, each in topics.items()]
            )

    def _collect_requests(self) -> Iterator[Family]:
        names = self._metrics.api_names
        seconds = [
            ((names.get(key, str(key)),), histogram)
            for key, histogram in sorted(self._metrics.requests.items())
        ]
        yield _histogram_family(catalogue.REQUEST_SECONDS, seconds)
        yield _family(catalogue.PRODUCE_ERRORS, [((), self._metrics.produce_errors)])

    def _collect_quotas(self) -> Iterator[Family]:
        counts, seconds = self._metrics.throttled_requests, self._metrics.throttle_seconds
        yield _family(
            catalogue.THROTTLED_REQUESTS, [((name,), count) for name, count in counts.items()]
        )
        yield _family(
            catalogue.THROTTLE_SECONDS, [((name,), total) for name, total in seconds.items()]
        )

    def _collect_connections(self) -> Iterator[Family]:
        metrics = self._metrics
        now_open = metrics.connections_opened - metrics.connections_closed
        yield _family(catalogue.CONNECTIONS_OPEN, [((), now_open)])
        yield _family(catalogue.CONNECTIONS_OPENED, [((), metrics.connections_opened)])
        yield _family(catalogue.CONNECTIONS_REFUSED, [((), metrics.connections_refused)])
        yield _family(catalogue.CONNECTIONS_CUT_OFF, [((), metrics.connections_cut_off)])
        yield _family(catalogue.AUTHENTICATIONS_FAILED, [((), metrics.authentications_failed)])
        yield _single(catalogue.PARKED_FETCHES, metrics.parked_fetches)
        yield _single(catalogue.FETCH_SESSIONS, metrics.fetch_sessions)

    def _collect_storage(self) -> Iterator[Family]:
        storage = self._metrics.storage
        for metric, attribute in _STORAGE_ATTRIBUTES:
            yield _family(metric, [((), getattr(storage, attribute))])
        yield _histogram_family(catalogue.WAL_SYNC_SECONDS, [((), storage.wal_sync_seconds)])
        yield _histogram_family(
            catalogue.SEGMENT_SYNC_SECONDS, [((), storage.segment_sync_seconds)]
        )
        yield _single(catalogue.WAL_SIZE_BYTES, self._metrics.wal_size_bytes)
        yield _single(catalogue.UNCLEANABLE_LOGS, self._metrics.uncleanable_logs)
        yield _single(catalogue.OPEN_SEGMENT_FILES, self._metrics.open_segment_files)

    def _collect_logs(self) -> Iterator[Family]:
        logs = [((each.topic, str(each.partition)), each) for each in self._metrics.logs()]
        yield _family(catalogue.LOG_SIZE_BYTES, [(key, each.size_bytes) for key, each in logs])
        yield _family(catalogue.LOG_START_OFFSET, [(key, each.start_offset) for key, each in logs])
        yield _family(catalogue.LOG_END_OFFSET, [(key, each.end_offset) for key, each in logs])

    def _collect_groups(self) -> Iterator[Family]:
        yield _family(
            catalogue.GROUP_MEMBERS,
            [((each.group, each.kind), each.members) for each in self._metrics.groups()],
        )
        lags = [
            ((each.group, each.topic, str(each.partition)), each) for each in self._metrics.lags()
        ]
        yield _family(
            catalogue.GROUP_COMMITTED_OFFSET, [(key, each.committed_offset) for key, each in lags]
        )
        yield _family(catalogue.GROUP_LAG_RECORDS, [(key, each.lag_records) for key, each in lags])

    def _collect_transactions(self) -> Iterator[Family]:
        counters, now_open = self._metrics.transactions, self._metrics.open_transactions()
        yield _family(
            catalogue.TRANSACTIONS_OPEN,
            [((state,), count) for state, count in now_open.by_state.items()],
        )
        yield _family(catalogue.TRANSACTION_OLDEST_OPEN_SECONDS, [((), now_open.oldest_seconds)])
        yield _family(
            catalogue.TRANSACTIONS_ENDED,
            [((result,), count) for result, count in counters.by_result().items()],
        )
        yield _family(catalogue.PRODUCERS_FENCED, [((), counters.producers_fenced)])

    def _collect_tables(self) -> Iterator[Family]:
        yield _single(catalogue.TABLE_TOPICS, self._metrics.table_topics)
        yield _single(catalogue.TABLE_PROCESSES, self._metrics.table_processes)
        yield _single(catalogue.TABLE_PROCESS_RESTARTS, self._metrics.table_process_restarts)


_TOPIC_ATTRIBUTES = (
    (catalogue.TOPIC_BYTES_IN, "bytes_in"),
    (catalogue.TOPIC_RECORDS_IN, "records_in"),
    (catalogue.TOPIC_BATCHES_IN, "batches_in"),
    (catalogue.TOPIC_BYTES_OUT, "bytes_out"),
)
_STORAGE_ATTRIBUTES = (
    (catalogue.WAL_FRAMES, "wal_frames"),
    (catalogue.WAL_BYTES, "wal_bytes"),
    (catalogue.SEGMENTS_ROLLED, "segments_rolled"),
    (catalogue.SEGMENTS_DELETED, "segments_deleted"),
    (catalogue.BYTES_COMPACTED, "bytes_compacted"),
)


def _single(metric: Metric, value: Callable[[], int]) -> Family:
    return _family(metric, [((), value())])


def _family(metric: Metric, samples: Iterable[Sample]) -> Family:
    family: CounterMetricFamily | GaugeMetricFamily
    if metric.kind is MetricKind.COUNTER:
        family = CounterMetricFamily(metric.name, metric.help, labels=metric.labels)
    else:
        family = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family


def _histogram_family(
    metric: Metric, histograms: Iterable[tuple[tuple[str, ...], Histogram]]
) -> Family:
    family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, histogram in histograms:
        family.add_metric(labels, _cumulative(histogram), histogram.total)
    return family


def _cumulative(histogram: Histogram) -> list[tuple[str, float]]:
    """Prometheus wants each bucket to include the smaller ones."""
    bounds = [*(repr(bound) for bound in histogram.bounds), "+Inf"]
    sums: list[tuple[str, float]] = []
    so_far = 0
    for bound, count in zip(bounds, histogram.counts, strict=True):
        so_far += count
        sums.append((bound, so_far))
    return sums

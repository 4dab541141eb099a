"""What is cheaper to ask than to count: connected to the metrics once, read when somebody
scrapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.topics import TopicEvent
from headrace.metrics.registry import LogSample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.broker.broker import Broker
    from headrace.broker.topics import TopicChange
    from headrace.broker.waiting import WaitingRoom
    from headrace.metrics.registry import Metrics
    from headrace.server.housekeeping import Housekeeping


def connect_samples(
    metrics: Metrics, broker: Broker, waiting: WaitingRoom, housekeeping: Housekeeping
) -> None:
    """Let the metrics ask the parts of the broker."""

    def logs() -> Iterator[LogSample]:
        for topic in broker.topics:
            for partition in topic.partitions:
                log = partition.log
                yield LogSample(
                    topic.name,
                    partition.index,
                    log.size_bytes,
                    log.log_start_offset,
                    log.log_end_offset,
                )

    def forget(change: TopicChange) -> None:
        if change.event is TopicEvent.DELETED:
            metrics.forget_topic(change.topic.name)

    metrics.logs = logs
    metrics.parked_fetches = lambda: waiting.parked
    metrics.groups = broker.groups.group_samples
    metrics.lags = broker.groups.lag_samples
    metrics.open_transactions = broker.transactions.open_transactions
    metrics.wal_size_bytes = lambda: broker.logs.write_ahead_log_bytes
    metrics.uncleanable_logs = lambda: housekeeping.uncleanable_count
    metrics.open_segment_files = lambda: broker.logs.files.open_count
    broker.topics.on_change(forget)

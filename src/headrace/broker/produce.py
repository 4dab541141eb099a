"""Produce: one batch to one partition.

The batch is never opened here; what a batch must obey is checked where it is written
(``storage``). This is the place for what the *broker* has to say: is the partition there, are
there enough replicas for the asked-for acknowledgement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.model.errors import (
    HeadraceError,
    InvalidProducerEpoch,
    NotEnoughReplicas,
    UnknownTopicOrPartition,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.broker.topics import Partition
    from headrace.environment.ports import Buffer
    from headrace.metrics.registry import Metrics
    from headrace.storage.log_manager import LogManager
    from headrace.storage.log_port import Appended

REPLICAS_IN_SYNC = 1
"""One node: the leader is the only replica."""


class Producing:
    """The write side of the broker."""

    def __init__(self, logs: LogManager, metrics: Metrics) -> None:
        self._append = logs.append_one
        self._when_durable = logs.when_durable
        self._metrics = metrics

    def append(
        self, partitions: list[Partition], index: int, batch: Buffer, all_replicas: bool
    ) -> Appended:
        """Write one client batch, or raise why not. The answer waits for ``commit_number``."""
        if not 0 <= index < len(partitions):
            raise UnknownTopicOrPartition(f"there is no partition {index}")
        log = partitions[index].log
        if all_replicas and log.config.min_insync_replicas > REPLICAS_IN_SYNC:
            raise NotEnoughReplicas(
                f"min.insync.replicas={log.config.min_insync_replicas}, "
                f"but {REPLICAS_IN_SYNC} replica is in sync"
            )
        try:
            appended = self._append(log, batch)
        except HeadraceError as error:
            self._metrics.produce_errors += 1
            if isinstance(error, InvalidProducerEpoch):
                self._metrics.transactions.producers_fenced += 1
            raise
        self._metrics.count_produced(
            log.partition.topic, len(batch), appended.last_offset - appended.base_offset + 1
        )
        return appended

    def when_durable(
        self, commit_number: int, callback: Callable[[BaseException | None], None]
    ) -> None:
        """Call back once everything up to ``commit_number`` survives what the topic promises."""
        self._when_durable(commit_number, callback)

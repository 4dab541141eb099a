"""Transactions that are open in a log while no coordinator knows of them.

None is made here: whoever writes is known to the coordinator first. But a loss of power may take
the coordinator's record and leave the data, an operator may delete the coordinator's topic, and a
log may come from elsewhere. Readers of committed records would wait at such a transaction for ever,
so it is aborted, as by a time-out.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import (
    HeadraceError,
    InvalidProducerEpoch,
    TransactionCoordinatorFenced,
    UnknownTopicOrPartition,
)
from headrace.model.topic import CONSUMER_OFFSETS_TOPIC, TopicPartition
from headrace.storage.control_batch import build_end_marker
from headrace.storage.log_port import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.broker.shard_timer import MillisecondClock
    from headrace.broker.topics import Partition, Topics
    from headrace.broker.transaction_markers import GroupListener
    from headrace.storage.log_manager import LogManager
    from headrace.storage.log_port import ProducerView

log = logging.getLogger(__name__)


class ForeignMarker(NamedTuple):
    """A marker that somebody other than the coordinator asks for."""

    producer_id: int
    producer_epoch: int
    is_commit: bool
    coordinator_epoch: int


class HangingTransactions:
    """Ends transactions that nobody else will."""

    def __init__(
        self,
        topics: Topics,
        logs: LogManager,
        groups: GroupListener,
        clock: MillisecondClock,
        is_coordinated: Callable[[int, TopicPartition], bool],
    ) -> None:
        self._topics = topics
        self._logs = logs
        self._groups = groups
        self._clock = clock
        self._is_coordinated = is_coordinated

    def abort_all(self) -> int:
        """Call when the state of all coordinators is known; how many there were."""
        count = 0
        for partition, producer in list(self._open()):
            if self._is_coordinated(producer.producer_id, partition.address):
                continue
            marker = ForeignMarker(
                producer.producer_id,
                producer.producer_epoch,
                is_commit=False,
                coordinator_epoch=max(producer.coordinator_epoch, 0),
            )
            try:
                self._write(partition, marker)
            except HeadraceError as error:
                log.warning("%s: a transaction stays open: %s", partition.address, error.message)
                continue
            count += 1
            log.warning(
                "%s: aborted the transaction of producer %d at offset %d: no coordinator knows it",
                partition.address,
                producer.producer_id,
                producer.transaction_start_offset,
            )
        return count

    def end(self, address: TopicPartition, marker: ForeignMarker) -> int:
        """Write one marker for an operator; the commit number to wait for. Nothing is written if
        nothing is open; what a coordinator knows is for the coordinator to end."""
        partition = self._topics.partition(*address)
        if partition is None:
            raise UnknownTopicOrPartition(f"there is no partition {address}")
        if self._is_coordinated(marker.producer_id, address):
            raise TransactionCoordinatorFenced("the coordinator has this transaction in its hands")
        for producer in partition.log.producers():
            if producer.producer_id == marker.producer_id:
                _raise_if_stale(producer, marker)
                if producer.transaction_start_offset >= 0:
                    return self._write(partition, marker)
        return 0

    def _open(self) -> Iterator[tuple[Partition, ProducerView]]:
        for topic in self._topics:
            for partition in topic.partitions:
                if partition.log.last_stable_offset < partition.log.high_watermark:
                    for producer in partition.log.producers():
                        if producer.transaction_start_offset >= 0:
                            yield partition, producer

    def _write(self, partition: Partition, marker: ForeignMarker) -> int:
        batch = build_end_marker(
            marker.producer_id,
            marker.producer_epoch,
            is_commit=marker.is_commit,
            coordinator_epoch=marker.coordinator_epoch,
            timestamp_ms=self._clock.now_ms(),
        )
        appended = self._logs.append_one(partition.log, batch, Origin.COORDINATOR)
        if partition.topic == CONSUMER_OFFSETS_TOPIC:
            self._groups.transaction_ended(
                partition.index, marker.producer_id, marker.producer_epoch, marker.is_commit
            )
        return appended.commit_number


def _raise_if_stale(producer: ProducerView, marker: ForeignMarker) -> None:
    if marker.producer_epoch < producer.producer_epoch:
        raise InvalidProducerEpoch(
            f"producer {producer.producer_id} has epoch {producer.producer_epoch}, "
            f"the marker {marker.producer_epoch}"
        )
    if marker.coordinator_epoch < producer.coordinator_epoch:
        raise TransactionCoordinatorFenced(
            f"a coordinator of epoch {producer.coordinator_epoch} wrote here already"
        )

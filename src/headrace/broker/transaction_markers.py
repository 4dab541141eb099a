"""The markers of a transaction that ends: one for every partition that took part.

A partition whose topic was deleted meanwhile gets none: there is nobody left to read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from headrace.storage.control_batch import build_end_marker

if TYPE_CHECKING:
    from headrace.broker.topics import Topics
    from headrace.coordination.transactions.completions import CompleteTransaction
    from headrace.storage.log_port import Log

MarkerEntry = tuple["Log", bytearray]


class GroupListener(Protocol):
    """The groups, as far as transactions know them."""

    def transaction_ended(
        self, partition_index: int, producer_id: int, producer_epoch: int, is_commit: bool
    ) -> None:
        """The marker has just been appended to this partition of the groups' topic."""


class TransactionMarkers:
    """Finds the logs, builds the batches, and tells the groups afterwards."""

    def __init__(self, topics: Topics, groups: GroupListener) -> None:
        self._topics = topics
        self._groups = groups

    def entries(
        self, ended: CompleteTransaction, coordinator_epoch: int, now_ms: int
    ) -> list[MarkerEntry]:
        """What has to be appended together with the record that ends the transaction."""
        marker = build_end_marker(
            ended.producer_id,
            ended.epoch,
            is_commit=ended.is_commit,
            coordinator_epoch=coordinator_epoch,
            timestamp_ms=now_ms,
        )
        entries: list[MarkerEntry] = []
        for address in ended.partitions + ended.group_partitions:
            log = self._log_of(*address)
            if log is not None:
                entries.append((log, marker if not entries else marker.copy()))
        return entries

    def appended(self, ended: CompleteTransaction) -> None:
        for address in ended.group_partitions:
            if self._log_of(*address) is not None:
                self._groups.transaction_ended(
                    address.partition, ended.producer_id, ended.epoch, ended.is_commit
                )

    def _log_of(self, topic: str, index: int) -> Log | None:
        partition = self._topics.partition(topic, index)
        if partition is None or partition.log.is_deleted:
            return None
        return partition.log

"""What can be asked of a transaction coordinator, and what it answers.

A front end turns ``ProducerFenced`` into the code that the version of the request understands
(KIP-588), and fills in what belongs to the wire, such as OPERATION_NOT_ATTEMPTED.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.model.topic import TopicPartition


class ProducerIdentity(NamedTuple):
    producer_id: int
    epoch: int


# --- producers ----------------------------------------------------------------------------------


class InitProducerId(NamedTuple):
    """Answered with the ProducerIdentity to use from now on."""

    transactional_id: str
    timeout_ms: int
    expected: ProducerIdentity | None = None
    """Who the caller believes to be: it goes on after an error (KIP-360). None: it begins."""


class AddPartitions(NamedTuple):
    """Answered with None. All partitions are added, or none."""

    transactional_id: str
    producer: ProducerIdentity
    partitions: frozenset[TopicPartition]
    client_version: int = 0
    """Transaction version of the caller: 2 if a produce request adds its partitions (KIP-890)."""


class AddOffsets(NamedTuple):
    """Answered with None. The group's offsets are part of the transaction."""

    transactional_id: str
    producer: ProducerIdentity
    group_partition: int
    """The partition of ``__consumer_offsets`` that holds the group."""
    client_version: int = 0


class VerifyPartitions(NamedTuple):
    """Answered with ``dict[TopicPartition, HeadraceError | None]``: is it in the transaction?"""

    transactional_id: str
    producer: ProducerIdentity
    partitions: frozenset[TopicPartition]


class EndTransaction(NamedTuple):
    """Answered with the ProducerIdentity to use from now on."""

    transactional_id: str
    producer: ProducerIdentity
    is_commit: bool
    client_version: int = 0
    """From 2 on, the epoch is bumped (KIP-890): EndTxn version 5 and later."""


# --- administration -----------------------------------------------------------------------------


class DescribeTransaction(NamedTuple):
    """Answered with DescribedTransaction."""

    transactional_id: str


class DescribedTransaction(NamedTuple):
    transactional_id: str
    state: str
    producer: ProducerIdentity
    timeout_ms: int
    start_ms: int
    """Of the open transaction, or the last one; -1: none since the producer began."""
    partitions: tuple[TopicPartition, ...]


class ListTransactions(NamedTuple):
    """Answered with ListedTransactions. What is empty or None does not filter."""

    states: frozenset[str] = frozenset()
    producer_ids: frozenset[int] = frozenset()
    running_longer_than_ms: int | None = None
    pattern: str | None = None
    """The transactional id must match it from end to end (KIP-1152)."""


class ListedTransaction(NamedTuple):
    transactional_id: str
    producer_id: int
    state: str


class ListedTransactions(NamedTuple):
    unknown_states: tuple[str, ...]
    transactions: tuple[ListedTransaction, ...]

"""The table of offsets in open transactions: which of several counts in the end."""

from __future__ import annotations

import pytest

from headrace.coordination.groups.pending_offsets import EndedOffset, PendingOffsets
from headrace.coordination.groups.records import CommittedOffset
from headrace.model.topic import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def offset(number: int) -> CommittedOffset:
    return CommittedOffset(number, -1, "", 1)


def ended(number: int, partition: TopicPartition = T0, group_id: str = "g") -> EndedOffset:
    return EndedOffset(group_id, partition, offset(number))


@pytest.fixture
def pending() -> PendingOffsets:
    return PendingOffsets()


def test_the_last_offset_of_a_transaction_counts(pending: PendingOffsets) -> None:
    pending.put(7, "g", T0, offset(1))
    pending.put(7, "g", T1, offset(2))
    pending.put(7, "h", T0, offset(3))
    pending.put(7, "g", T0, offset(4))
    assert sorted(pending.commit(7)) == [ended(4), ended(2, T1), ended(3, group_id="h")]
    assert not pending
    assert pending.commit(7) == []


def test_an_aborted_transaction_leaves_nothing(pending: PendingOffsets) -> None:
    pending.put(7, "g", T0, offset(1))
    pending.put(8, "g", T0, offset(2))
    pending.abort(7)
    pending.abort(9)
    assert pending.has("g", T0)
    assert pending.commit(8) == [ended(2)]
    assert not pending.has("g", T0)


def test_what_was_written_before_a_commit_is_overtaken(pending: PendingOffsets) -> None:
    pending.put(7, "g", T0, offset(1))
    pending.put(7, "g", T1, offset(10))
    pending.overtake("g", T0)
    assert pending.has("g", T0)
    assert pending.commit(7) == [ended(10, T1)]


def test_of_two_transactions_the_later_record_wins_whichever_ends_first(
    pending: PendingOffsets,
) -> None:
    pending.put(7, "g", T0, offset(1))
    pending.put(8, "g", T0, offset(2))
    assert pending.commit(8) == [ended(2)]
    assert pending.commit(7) == []
    pending.put(7, "g", T0, offset(1))
    pending.put(8, "g", T0, offset(2))
    assert pending.commit(7) == [ended(1)]
    assert pending.commit(8) == [ended(2)]


def test_a_repeated_record_takes_the_last_place(pending: PendingOffsets) -> None:
    pending.put(7, "g", T0, offset(1))
    pending.put(8, "g", T0, offset(2))
    pending.put(7, "g", T0, offset(3))
    assert pending.commit(7) == [ended(3)]
    assert pending.commit(8) == []


def test_a_record_after_it_was_overtaken_counts_again(pending: PendingOffsets) -> None:
    pending.put(7, "g", T0, offset(1))
    pending.overtake("g", T0)
    pending.put(7, "g", T0, offset(2))
    assert pending.commit(7) == [ended(2)]


def test_a_deleted_offset_is_forgotten_in_all_transactions(pending: PendingOffsets) -> None:
    pending.put(7, "g", T0, offset(1))
    pending.put(8, "g", T0, offset(2))
    pending.put(8, "g", T1, offset(3))
    pending.forget("g", T0)
    pending.forget("unheard", T0)
    assert list(pending.partitions_of("g")) == [T1]
    assert pending.commit(7) == []
    assert pending.commit(8) == [ended(3, T1)]
    assert (pending.group_ids(), pending.has_group("g")) == ([], False)

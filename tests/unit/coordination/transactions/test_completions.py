from headrace.coordination.shard import CoordinatorRecord
from headrace.coordination.transactions.completions import CompleteTransaction, completions
from headrace.coordination.transactions.record_codec import transaction_tombstone
from headrace.coordination.transactions.records import EPOCH_MAX
from headrace.coordination.transactions.states import TransactionState
from headrace.model.topic import TopicPartition

from .bench import ID, P0, TransactionBench, stored

S = TransactionState
GROUP = TopicPartition("__consumer_offsets", 4)


def transactions(*records):
    return TransactionBench(records).registry.transactions


def test_partitions_of_groups_are_kept_apart():
    before = transactions(stored(partitions=frozenset({P0, GROUP})))
    found = completions(before, [stored(state=S.COMPLETE_COMMIT, partitions=frozenset())])
    assert found == [CompleteTransaction(ID, 7, 3, True, (P0,), (GROUP,))]


def test_record_that_ends_nothing_has_no_completion():
    before = transactions(stored())
    assert completions(before, [stored(), transaction_tombstone(ID)]) == []
    assert completions({}, [stored(state=S.COMPLETE_ABORT)]) == []


def test_abort_of_nothing_has_no_completion():
    before = transactions(stored(state=S.COMPLETE_COMMIT, partitions=frozenset()))
    assert completions(before, [stored(state=S.COMPLETE_ABORT, partitions=frozenset())]) == []


def test_record_of_another_kind_is_left_alone():
    assert completions(transactions(stored()), [CoordinatorRecord(b"\x00\x09", b"")]) == []


def test_marker_has_the_epoch_that_fences_the_one_before():
    before = transactions(stored(producer_epoch=3))
    ended = stored(state=S.COMPLETE_COMMIT, producer_epoch=4, partitions=frozenset())
    assert [each.epoch for each in completions(before, [ended])] == [4]


def test_marker_of_a_producer_id_that_is_used_up_has_the_last_epoch():
    before = transactions(stored(producer_epoch=EPOCH_MAX - 1))
    ended = stored(state=S.COMPLETE_COMMIT, producer_id=8, producer_epoch=0, partitions=frozenset())
    (found,) = completions(before, [ended])
    assert (found.producer_id, found.epoch) == (7, EPOCH_MAX)

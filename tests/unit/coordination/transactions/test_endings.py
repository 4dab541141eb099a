import pytest

from headrace.coordination.transactions.commands import ProducerIdentity
from headrace.coordination.transactions.states import TransactionState
from headrace.model.errors import (
    ConcurrentTransactions,
    CoordinatorNotAvailable,
    InvalidProducerIdMapping,
    InvalidTransactionState,
    ProducerFenced,
)

from .bench import ID, P0, P1, START_MS, TIMEOUT_MS, TransactionBench, stored

S = TransactionState
PRESENT = ProducerIdentity(7, 3)
BEFORE = ProducerIdentity(7, 2)


def at_rest(state, **changes):
    start_ms = -1 if state == S.EMPTY else START_MS
    return stored(state=state, partitions=frozenset(), start_ms=start_ms, **changes)


# --- version 1: the epoch stays -------------------------------------------------------------------


@pytest.mark.parametrize("is_commit", [True, False])
def test_version_1_keeps_the_epoch(is_commit):
    bench = TransactionBench([stored()])
    assert bench.end(PRESENT, is_commit=is_commit, version=1) == PRESENT
    assert bench.describe().state == ("CompleteCommit" if is_commit else "CompleteAbort")
    (marker,) = bench.port.markers
    assert marker == (ID, 7, 3, is_commit, (P0, P1), ())
    assert bench.transaction.client_version == 0


def test_version_1_end_is_one_record():
    bench = TransactionBench([stored()])
    bench.end(PRESENT, version=1)
    assert len(bench.port.log) == 2


@pytest.mark.parametrize(
    ("state", "is_commit", "error"),
    [
        (S.COMPLETE_COMMIT, True, None),
        (S.COMPLETE_COMMIT, False, InvalidTransactionState),
        (S.COMPLETE_ABORT, False, None),
        (S.COMPLETE_ABORT, True, InvalidTransactionState),
        (S.EMPTY, True, InvalidTransactionState),
        (S.EMPTY, False, InvalidTransactionState),
        (S.PREPARE_COMMIT, True, ConcurrentTransactions),
        (S.PREPARE_COMMIT, False, InvalidTransactionState),
        (S.PREPARE_ABORT, False, ConcurrentTransactions),
        (S.PREPARE_ABORT, True, InvalidTransactionState),
    ],
)
def test_version_1_without_an_open_transaction(state, is_commit, error):
    bench = TransactionBench([at_rest(state)])
    reply = bench.end(PRESENT, is_commit=is_commit, version=1)
    assert reply == PRESENT if error is None else isinstance(reply, error)
    assert len(bench.port.log) == 1


# --- version 2: the epoch goes with it (KIP-890) --------------------------------------------------


@pytest.mark.parametrize("is_commit", [True, False])
def test_version_2_bumps_the_epoch_and_marks_with_the_new_one(is_commit):
    bench = TransactionBench([stored()])
    assert bench.end(PRESENT, is_commit=is_commit) == (7, 4)
    (marker,) = bench.port.markers
    assert (marker.producer_id, marker.epoch, marker.is_commit) == (7, 4, is_commit)
    assert bench.describe().partitions == ()


@pytest.mark.parametrize("is_commit", [True, False])
def test_version_2_recognises_a_repeated_end(is_commit):
    bench = TransactionBench([stored()])
    first = bench.end(PRESENT, is_commit=is_commit)
    assert bench.end(PRESENT, is_commit=is_commit) == first
    assert bench.restarted().end(PRESENT, is_commit=is_commit) == first
    assert isinstance(bench.end(PRESENT, is_commit=not is_commit), InvalidTransactionState)
    assert len(bench.port.markers) == 1


@pytest.mark.parametrize(
    ("state", "is_commit", "producer", "outcome"),
    [
        (S.EMPTY, False, BEFORE, ProducerFenced),
        (S.EMPTY, False, PRESENT, (7, 4)),
        (S.EMPTY, True, BEFORE, ProducerFenced),
        (S.EMPTY, True, PRESENT, InvalidTransactionState),
        (S.COMPLETE_ABORT, False, BEFORE, (7, 3)),
        (S.COMPLETE_ABORT, False, PRESENT, (7, 4)),
        (S.COMPLETE_ABORT, True, BEFORE, InvalidTransactionState),
        (S.COMPLETE_ABORT, True, PRESENT, InvalidTransactionState),
        (S.COMPLETE_COMMIT, False, BEFORE, InvalidTransactionState),
        (S.COMPLETE_COMMIT, False, PRESENT, (7, 4)),
        (S.COMPLETE_COMMIT, True, BEFORE, (7, 3)),
        (S.COMPLETE_COMMIT, True, PRESENT, InvalidTransactionState),
        (S.PREPARE_COMMIT, True, BEFORE, ConcurrentTransactions),
        (S.PREPARE_COMMIT, False, BEFORE, InvalidTransactionState),
        (S.PREPARE_ABORT, False, BEFORE, ConcurrentTransactions),
        (S.PREPARE_ABORT, True, BEFORE, InvalidTransactionState),
        (S.PREPARE_COMMIT, True, PRESENT, ProducerFenced),
        (S.ONGOING, True, BEFORE, ProducerFenced),
    ],
)
def test_version_2_table(state, is_commit, producer, outcome):
    bench = TransactionBench([at_rest(state)])
    reply = bench.end(producer, is_commit=is_commit)
    assert reply == outcome if isinstance(outcome, tuple) else isinstance(reply, outcome)
    assert bench.port.markers == []


def test_abort_of_nothing_has_a_beginning():
    bench = TransactionBench([at_rest(S.EMPTY)])
    bench.end(PRESENT, is_commit=False)
    assert bench.transaction.start_ms == START_MS


def test_version_2_moves_to_another_producer_id_when_epochs_are_used_up():
    bench = TransactionBench([stored(producer_epoch=32_766)])
    old = ProducerIdentity(7, 32_766)
    assert bench.end(old) == (100, 0)
    assert [(each.producer_id, each.epoch) for each in bench.port.markers] == [(7, 32_767)]
    assert bench.end(old) == bench.restarted().end(old) == (100, 0)
    assert isinstance(bench.end(old, is_commit=False), InvalidTransactionState)


def test_end_of_version_1_is_not_taken_for_one_that_bumped():
    """Else a zombie would be given the identity of its successor."""
    bench = TransactionBench([stored()])
    bench.end(PRESENT, version=1)
    assert isinstance(bench.end(BEFORE), ProducerFenced)


@pytest.mark.parametrize("version", [1, 2])
def test_stranger_cannot_end(version):
    bench = TransactionBench([stored()])
    stranger = ProducerIdentity(8, 3)
    assert isinstance(bench.end(stranger, version=version), InvalidProducerIdMapping)
    assert bench.describe().state == "Ongoing"


def test_end_that_cannot_be_written_has_not_happened():
    bench = TransactionBench([stored()])
    bench.port.is_broken = True
    assert isinstance(bench.end(PRESENT), CoordinatorNotAvailable)
    assert bench.describe().state == "Ongoing"
    bench.port.is_broken = False
    assert bench.end(PRESENT) == (7, 4)


# --- time-outs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "epoch"), [(0, 4), (1, 4), (2, 5)])
def test_timed_out_transaction_is_aborted_and_its_producer_fenced(version, epoch):
    bench = TransactionBench([stored()], version=version)
    bench.pass_ms(TIMEOUT_MS - 1)
    assert bench.describe().state == "Ongoing"
    bench.pass_ms(1)
    assert bench.describe().state == "CompleteAbort"
    (marker,) = bench.port.markers
    assert (marker.epoch, marker.is_commit, marker.partitions) == (epoch, False, (P0, P1))
    for client_version in (1, 2):
        for is_commit in (True, False):
            reply = bench.end(PRESENT, is_commit=is_commit, version=client_version)
            assert isinstance(reply, ProducerFenced)
    assert isinstance(bench.add(PRESENT), ProducerFenced)


def test_producer_at_the_highest_epoch_is_fenced_for_good():
    bench = TransactionBench([stored(producer_epoch=32_766)])
    bench.pass_ms(TIMEOUT_MS)
    assert isinstance(bench.end(ProducerIdentity(7, 32_766), is_commit=False), ProducerFenced)
    assert bench.init() == (100, 0)


@pytest.mark.parametrize("version", [1, 2])
def test_epoch_that_fences_lets_nobody_in(version):
    bench = TransactionBench([stored(producer_epoch=32_766)])
    bench.pass_ms(TIMEOUT_MS)
    made_up = ProducerIdentity(7, 32_767)
    assert isinstance(bench.end(made_up, is_commit=False, version=version), ProducerFenced)
    assert isinstance(bench.add(made_up), ProducerFenced)
    assert isinstance(bench.init(expected=made_up), ProducerFenced)


def test_time_out_that_cannot_be_written_is_tried_again():
    bench = TransactionBench([stored()])
    bench.port.is_broken = True
    bench.pass_ms(TIMEOUT_MS + 500)
    assert bench.describe().state == "Ongoing"
    bench.port.is_broken = False
    bench.pass_ms(500)
    assert bench.describe().state == "CompleteAbort"


def test_time_out_passed_while_nobody_ran_is_noticed_at_once():
    bench = TransactionBench([stored()], now_ms=START_MS + 2 * TIMEOUT_MS)
    bench.pass_ms(0)
    assert bench.describe().state == "CompleteAbort"


def test_partitions_that_are_added_give_no_more_time():
    bench = TransactionBench([stored(partitions=frozenset({P0}))])
    bench.pass_ms(TIMEOUT_MS - 1)
    bench.add(PRESENT, P1)
    bench.pass_ms(1)
    assert bench.describe().state == "CompleteAbort"


def test_ended_transaction_does_not_time_out():
    bench = TransactionBench([stored()])
    bench.end(PRESENT)
    bench.pass_ms(2 * TIMEOUT_MS)
    assert len(bench.port.markers) == 1


def test_time_out_counts_from_the_transaction_that_is_open_and_not_from_the_one_before():
    bench = TransactionBench([stored()])
    bench.pass_ms(TIMEOUT_MS // 2)
    bench.add(bench.end(PRESENT))
    bench.pass_ms(TIMEOUT_MS - 1)
    assert bench.describe().state == "Ongoing"
    bench.pass_ms(1)
    assert bench.describe().state == "CompleteAbort"


def test_shorter_time_out_of_a_successor_does_not_wait_for_the_longer_one_before():
    bench = TransactionBench([stored()])
    bench.add(bench.init(timeout_ms=TIMEOUT_MS // 2))
    bench.pass_ms(TIMEOUT_MS // 2)
    assert bench.describe().state == "CompleteAbort"


def test_transaction_that_begins_after_a_completion_is_given_all_its_time():
    bench = TransactionBench([stored(state=S.PREPARE_COMMIT)])
    bench.pass_ms(0)
    bench.add(bench.init())
    bench.pass_ms(TIMEOUT_MS - 1)
    assert bench.describe().state == "Ongoing"
    bench.pass_ms(1)
    assert bench.describe().state == "CompleteAbort"


def test_transaction_without_time_out_is_left_open():
    bench = TransactionBench([stored(timeout_ms=2**31 - 1)])
    bench.pass_ms(2**31)
    assert bench.describe().state == "Ongoing"


# --- after a restart ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "title", "is_commit"),
    [
        (S.PREPARE_COMMIT, "CompleteCommit", True),
        (S.PREPARE_ABORT, "CompleteAbort", False),
        (S.PREPARE_EPOCH_FENCE, "CompleteAbort", False),
    ],
)
def test_what_was_prepared_is_completed(state, title, is_commit):
    bench = TransactionBench([stored(state=state)])
    bench.pass_ms(0)
    assert bench.describe().state == title
    assert bench.port.markers == [(ID, 7, 3, is_commit, (P0, P1), ())]
    assert bench.transaction.client_version == 2
    assert bench.end(BEFORE, is_commit=is_commit) == PRESENT


def test_prepared_with_a_successor_goes_over_to_it():
    record = stored(state=S.PREPARE_COMMIT, producer_epoch=32_767, next_producer_id=9)
    bench = TransactionBench([record])
    bench.pass_ms(0)
    assert bench.describe().producer == (9, 0)
    assert [(each.producer_id, each.epoch) for each in bench.port.markers] == [(7, 32_767)]
    assert bench.end(ProducerIdentity(7, 32_766)) == (9, 0)


def test_completion_that_cannot_be_written_is_tried_again():
    bench = TransactionBench([stored(state=S.PREPARE_COMMIT)])
    bench.port.is_broken = True
    bench.pass_ms(500)
    assert bench.describe().state == "PrepareCommit"
    bench.port.is_broken = False
    bench.pass_ms(500)
    assert bench.describe().state == "CompleteCommit"

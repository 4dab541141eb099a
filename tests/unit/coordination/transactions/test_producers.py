import pytest

from headrace.coordination.transactions.commands import InitProducerId, ProducerIdentity
from headrace.coordination.transactions.states import TransactionState
from headrace.model.errors import (
    ConcurrentTransactions,
    CoordinatorLoading,
    InvalidRequest,
    InvalidTransactionTimeout,
    ProducerFenced,
)

from .bench import ID, P0, START_MS, TIMEOUT_MS, TransactionBench, stored


def at_rest(**changes):
    return stored(state=TransactionState.COMPLETE_COMMIT, partitions=frozenset(), **changes)


def test_new_id_gets_a_fresh_producer_id_and_epoch_0():
    bench = TransactionBench()
    assert bench.init() == (100, 0)
    assert bench.describe().state == "Empty"


def test_second_instance_gets_the_next_epoch():
    bench = TransactionBench()
    first = bench.init()
    assert bench.init(timeout_ms=5) == (100, 1)
    assert bench.transaction.timeout_ms == 5
    assert isinstance(bench.add(first), ProducerFenced)


@pytest.mark.parametrize(("version", "marker_epoch"), [(1, 1), (2, 2)])
def test_open_transaction_is_aborted_in_the_same_append(version, marker_epoch):
    bench = TransactionBench(version=version)
    first = bench.init()
    bench.add(first, P0)
    assert bench.init() == (100, marker_epoch + 1)
    (marker,) = bench.port.markers
    assert (marker.epoch, marker.is_commit, marker.partitions) == (marker_epoch, False, (P0,))
    assert isinstance(bench.end(first), ProducerFenced)


@pytest.mark.parametrize("state", [TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT])
def test_prepared_transaction_must_be_completed_first(state):
    bench = TransactionBench([stored(state=state)])
    assert isinstance(bench.init(), ConcurrentTransactions)
    bench.pass_ms(1)
    assert bench.init() == (7, 4)


@pytest.mark.parametrize("epoch", [32_766, 32_767])
def test_exhausted_epoch_brings_another_producer_id(epoch):
    assert TransactionBench([at_rest(producer_epoch=epoch)]).init() == (100, 0)


def test_last_epoch_but_one_is_still_given():
    assert TransactionBench([at_rest(producer_epoch=32_765)]).init() == (7, 32_766)


def test_open_transaction_at_the_highest_epoch_is_fenced_by_the_one_that_is_never_given():
    bench = TransactionBench([stored(producer_epoch=32_766)])
    assert bench.init() == (100, 0)
    assert [(each.producer_id, each.epoch) for each in bench.port.markers] == [(7, 32_767)]


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001, 2**31 - 1])
def test_timeout_out_of_bounds_is_refused(timeout_ms):
    bench = TransactionBench()
    assert isinstance(bench.init(timeout_ms=timeout_ms), InvalidTransactionTimeout)
    assert bench.port.log == []


@pytest.mark.parametrize("transactional_id", ["", "x" * 32_768])
def test_unusable_transactional_id_is_refused(transactional_id):
    reply = TransactionBench().ask(InitProducerId(transactional_id, TIMEOUT_MS))
    assert isinstance(reply, InvalidRequest)


def test_no_producer_id_to_be_had_changes_nothing():
    bench = TransactionBench()

    def none_left():
        raise CoordinatorLoading("ids are being reserved")

    bench.registry.allocate_producer_id = none_left
    assert isinstance(bench.init(), CoordinatorLoading)
    assert bench.port.log == []


# --- a producer that goes on after an error (KIP-360) ---------------------------------------------


def test_present_producer_gets_the_next_epoch():
    bench = TransactionBench()
    assert bench.init(bench.init()) == (100, 1)


def test_repeated_request_gets_the_same_answer_again():
    bench = TransactionBench()
    first = bench.init()
    assert bench.init(first) == bench.init(first) == bench.init(first) == (100, 1)


def test_repeated_request_of_an_exhausted_producer_gets_the_same_answer_again():
    bench = TransactionBench([at_rest(producer_epoch=32_766)])
    old = ProducerIdentity(7, 32_766)
    assert bench.init(old) == bench.init(old) == (100, 0)


def test_old_producer_is_fenced_once_another_began():
    bench = TransactionBench()
    first = bench.init()
    second = bench.init(first)
    bench.init()
    assert isinstance(bench.init(first), ProducerFenced)
    assert isinstance(bench.init(second), ProducerFenced)


def test_restart_forgets_that_a_request_was_answered():
    bench = TransactionBench()
    first = bench.init()
    bench.init(first)
    assert isinstance(bench.restarted().init(first), ProducerFenced)


@pytest.mark.parametrize("expected", [(8, 3), (7, 2), (7, 4), (8, 32_766)])
def test_stranger_is_fenced_and_the_open_transaction_left_alone(expected):
    bench = TransactionBench([stored()])
    assert isinstance(bench.init(ProducerIdentity(*expected)), ProducerFenced)
    assert bench.describe().state == "Ongoing"
    assert bench.port.markers == []


def test_present_producer_may_abort_its_own_open_transaction():
    bench = TransactionBench([stored()])
    present = ProducerIdentity(7, 3)
    assert bench.init(present) == (7, 6)
    assert len(bench.port.markers) == 1


def test_unknown_transactional_id_accepts_any_claim():
    assert TransactionBench().init(ProducerIdentity(55, 5)) == (100, 0)


def test_record_shows_a_quiet_id():
    bench = TransactionBench([stored()])
    bench.init()
    assert bench.transaction.partitions == frozenset()
    assert bench.transaction.start_ms == -1
    assert bench.transaction.updated_ms == START_MS
    assert bench.transaction.transactional_id == ID

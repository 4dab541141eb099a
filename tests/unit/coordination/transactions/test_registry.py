import pytest

from headrace.coordination.transactions.records import Transaction
from headrace.coordination.transactions.states import TransactionState
from headrace.model.errors import InternalError, InvalidProducerIdMapping, InvalidRequest

from .bench import ID, TransactionBench, stored


def test_version_of_the_record_follows_the_finalised_feature():
    for version, expected in ((0, 0), (1, 1), (2, 1)):
        bench = TransactionBench(version=version)
        bench.init()
        assert int.from_bytes(bench.port.log[0].value[:2], "big") == expected


def test_record_of_an_illegal_transition_is_not_made():
    bench = TransactionBench([stored()])
    before = bench.transaction
    with pytest.raises(InternalError):
        bench.registry.record(before, before._replace(state=TransactionState.EMPTY))


def test_dead_record_forgets_the_id():
    bench = TransactionBench([stored(), stored(state=TransactionState.DEAD)])
    assert bench.registry.transactions == {}


def test_last_epoch_is_remembered_only_of_the_record_that_was_decided():
    bench = TransactionBench()
    first = bench.init()
    bench.init(first)
    assert bench.transaction.last_epoch == 0
    transaction = Transaction(ID, 7, 3, 1, 1)
    bench.registry.record(None, transaction._replace(last_epoch=2))
    bench.shard.replay([stored()])
    assert bench.transaction.last_epoch == -1


def test_missing_id_is_told_from_an_empty_one():
    registry = TransactionBench().registry
    with pytest.raises(InvalidProducerIdMapping):
        registry.find("other")
    with pytest.raises(InvalidRequest):
        registry.find("")

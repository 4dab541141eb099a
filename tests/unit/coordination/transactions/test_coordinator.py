import pytest

from headrace.coordination.shard import CoordinatorRecord
from headrace.coordination.transactions.commands import DescribeTransaction
from headrace.coordination.transactions.coordinator import TransactionCoordinator
from headrace.coordination.transactions.registry import TransactionRegistry, TransactionSettings
from headrace.model.errors import CoordinatorLoading, CorruptRecord, InternalError

from .bench import ID, TransactionBench, stored


def test_nobody_is_served_while_loading():
    machine = TransactionCoordinator(TransactionRegistry(TransactionSettings(), lambda: 1))
    with pytest.raises(CoordinatorLoading):
        machine.decide(DescribeTransaction(ID), 1, 0)
    assert machine.next_deadline_ms() is None


def test_unknown_command_is_our_fault():
    assert isinstance(TransactionBench().ask("nonsense"), InternalError)


def test_unknown_kind_of_record_is_counted_and_left_alone():
    bench = TransactionBench([stored(), CoordinatorRecord(b"\x00\x05abc", b"x")])
    assert bench.machine.unknown_records == 1
    assert list(bench.registry.transactions) == [ID]


def test_damaged_record_is_named_and_changes_nothing():
    bench = TransactionBench([stored()])
    with pytest.raises(CorruptRecord):
        bench.machine.replay(CoordinatorRecord(stored().key, b"\x00\x01\x00"))
    assert bench.describe().state == "Ongoing"


def test_reply_waits_for_the_medium():
    bench = TransactionBench()
    bench.port.is_lazy = True
    bench.shard.submit(DescribeTransaction(ID), "early", bench.now_ms)
    with pytest.raises(KeyError):
        bench.init()
    bench.port.sync()
    assert list(bench.port.replies) == ["early", 1]

import pytest

from headrace.coordination.transactions.commands import (
    AddOffsets,
    AddPartitions,
    ProducerIdentity,
    VerifyPartitions,
)
from headrace.coordination.transactions.states import TransactionState
from headrace.model.errors import (
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    InvalidRequest,
    LimitReached,
    ProducerFenced,
    TransactionAbortable,
)
from headrace.model.topic import TopicPartition

from .bench import ID, P0, P1, START_MS, TransactionBench, stored

PRESENT = ProducerIdentity(7, 3)


def test_first_partition_opens_the_transaction():
    bench = TransactionBench()
    producer = bench.init()
    bench.pass_ms(10)
    assert bench.add(producer, P0) is None
    assert bench.describe().state == "Ongoing"
    assert bench.describe().start_ms == START_MS + 10


def test_further_partitions_leave_the_start_alone():
    bench = TransactionBench()
    producer = bench.init()
    bench.add(producer, P0)
    bench.pass_ms(10)
    bench.add(producer, P1)
    assert bench.describe().start_ms == START_MS
    assert bench.describe().partitions == (P0, P1)


def test_partition_that_is_there_already_costs_no_record():
    bench = TransactionBench([stored()])
    length = len(bench.port.log)
    assert bench.add(PRESENT, P0) is None
    assert len(bench.port.log) == length


def test_offsets_add_the_partition_of_the_group():
    bench = TransactionBench()
    assert bench.ask(AddOffsets(ID, bench.init(), 12)) is None
    assert bench.describe().partitions == (TopicPartition("__consumer_offsets", 12),)


@pytest.mark.parametrize("command", [AddPartitions, VerifyPartitions])
@pytest.mark.parametrize(
    ("transactional_id", "producer", "error"),
    [
        (ID, (7, 2), ProducerFenced),
        (ID, (7, 4), ProducerFenced),
        (ID, (8, 3), InvalidProducerIdMapping),
        ("other", (7, 3), InvalidProducerIdMapping),
        ("", (7, 3), InvalidRequest),
    ],
)
def test_others_are_refused(command, transactional_id, producer, error):
    bench = TransactionBench([stored()])
    length = len(bench.port.log)
    new = frozenset({TopicPartition("new", 0)})
    reply = bench.ask(command(transactional_id, ProducerIdentity(*producer), new))
    assert isinstance(reply, error)
    assert len(bench.port.log) == length


def test_nothing_is_added_while_the_last_transaction_is_completed():
    bench = TransactionBench([stored(state=TransactionState.PREPARE_COMMIT)])
    assert isinstance(bench.add(PRESENT, P0), ConcurrentTransactions)


def test_number_of_partitions_is_limited():
    bench = TransactionBench(partitions_max=1)
    producer = bench.init()
    assert isinstance(bench.add(producer, P0, P1), LimitReached)
    assert bench.add(producer, P0) is None


def test_verification_tells_which_partitions_take_part():
    bench = TransactionBench([stored(partitions=frozenset({P0}))])
    verdicts = bench.ask(VerifyPartitions(ID, PRESENT, frozenset({P0, P1})))
    assert verdicts[P0] is None
    assert isinstance(verdicts[P1], TransactionAbortable)

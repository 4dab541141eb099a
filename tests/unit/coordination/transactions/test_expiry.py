import pytest

from headrace.coordination.transactions import expiry
from headrace.coordination.transactions.record_codec import transaction_tombstone
from headrace.coordination.transactions.states import TransactionState
from headrace.model.errors import InvalidProducerIdMapping

from .bench import ID, P0, TransactionBench, stored

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def test_unused_id_is_forgotten_with_a_tombstone():
    bench = TransactionBench()
    producer = bench.init()
    bench.pass_ms(7 * DAY_MS - 1)
    assert ID in bench.registry.transactions
    bench.pass_ms(HOUR_MS)
    assert bench.registry.transactions == {}
    assert bench.port.log[-1] == transaction_tombstone(ID)
    assert isinstance(bench.add(producer, P0), InvalidProducerIdMapping)
    assert bench.restarted().registry.transactions == {}


def test_used_id_stays():
    bench = TransactionBench()
    producer = bench.init()
    for _ in range(10):
        bench.pass_ms(DAY_MS)
        bench.add(producer, P0)
        producer = bench.end(producer)
    assert bench.describe().producer == producer


@pytest.mark.parametrize("state", [TransactionState.ONGOING, TransactionState.PREPARE_COMMIT])
def test_open_transaction_never_expires(state):
    record = stored(state=state, updated_ms=0, timeout_ms=2**31 - 1)
    bench = TransactionBench([record], id_expiration_ms=1, id_expiration_check_interval_ms=10_000)
    bench.port.is_broken = state != TransactionState.ONGOING
    bench.pass_ms(20_000)
    assert ID in bench.registry.transactions


def test_many_are_looked_through_in_parts(monkeypatch):
    monkeypatch.setattr(expiry, "IDS_PER_DECISION_MAX", 2)
    resting = {"state": TransactionState.EMPTY, "partitions": frozenset(), "updated_ms": 0}
    bench = TransactionBench(
        [stored(transactional_id=f"id{each}", **resting) for each in range(5)],
        now_ms=8 * DAY_MS,
    )
    bench.now_ms += HOUR_MS
    remaining = []
    for _ in range(3):
        decision = bench.machine.expire_next(bench.now_ms)
        bench.shard.replay(decision.records)
        remaining.append(len(bench.registry.transactions))
    assert remaining == [3, 1, 0]
    assert bench.machine.expire_next(bench.now_ms) is None


def test_id_that_begins_again_after_expiry_gets_another_producer_id():
    bench = TransactionBench(id_expiration_ms=HOUR_MS)
    first = bench.init()
    bench.pass_ms(2 * HOUR_MS)
    assert bench.init() == (first.producer_id + 1, 0)

import pytest

from headrace.coordination.transactions.commands import (
    DescribedTransaction,
    DescribeTransaction,
    ListTransactions,
)
from headrace.coordination.transactions.states import TransactionState
from headrace.model.errors import (
    InvalidRegularExpression,
    InvalidRequest,
    TransactionalIdNotFound,
)

from .bench import ID, P0, P1, START_MS, TIMEOUT_MS, TransactionBench, stored


@pytest.fixture
def bench():
    resting = {"state": TransactionState.COMPLETE_COMMIT, "partitions": frozenset()}
    return TransactionBench(
        [
            stored(),
            stored(transactional_id="pay.b", producer_id=8, start_ms=START_MS - 1_000),
            stored(transactional_id="ship", producer_id=9, start_ms=0, **resting),
        ]
    )


def listed(bench, **filters):
    return [each.transactional_id for each in bench.ask(ListTransactions(**filters)).transactions]


def test_description_shows_the_open_transaction(bench):
    assert bench.describe() == DescribedTransaction(
        ID, "Ongoing", (7, 3), TIMEOUT_MS, START_MS, (P0, P1)
    )


def test_unknown_id_is_not_found(bench):
    assert isinstance(bench.ask(DescribeTransaction("other")), TransactionalIdNotFound)
    assert isinstance(bench.ask(DescribeTransaction("")), InvalidRequest)


def test_without_filters_all_are_listed(bench):
    reply = bench.ask(ListTransactions())
    assert reply.unknown_states == ()
    assert [tuple(each) for each in reply.transactions] == [
        (ID, 7, "Ongoing"),
        ("pay.b", 8, "Ongoing"),
        ("ship", 9, "CompleteCommit"),
    ]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"states": frozenset({"CompleteCommit", "Empty"})}, ["ship"]),
        ({"producer_ids": frozenset({8, 9})}, ["pay.b", "ship"]),
        ({"running_longer_than_ms": 999}, ["pay.b"]),
        ({"running_longer_than_ms": 1_000}, []),
        ({"pattern": "pay.*"}, [ID, "pay.b"]),
        ({"pattern": "pay"}, []),
        ({"pattern": ""}, [ID, "pay.b", "ship"]),
        ({"pattern": "p.*", "producer_ids": frozenset({8})}, ["pay.b"]),
    ],
)
def test_filters(bench, filters, expected):
    assert listed(bench, **filters) == expected


def test_unknown_states_are_named(bench):
    reply = bench.ask(ListTransactions(states=frozenset({"ongoing", "Nonsense"})))
    assert reply.unknown_states == ("Nonsense", "ongoing")
    assert reply.transactions == ()


def test_invalid_pattern_is_refused(bench):
    assert isinstance(bench.ask(ListTransactions(pattern="(")), InvalidRegularExpression)

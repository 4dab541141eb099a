import pytest

from headrace.coordination.transactions.states import (
    KAFKA_PREDECESSORS,
    LEGAL_PREDECESSORS,
    STATES_BY_TITLE,
    TransactionState,
    raise_if_illegal_transition,
)
from headrace.model.errors import InternalError

S = TransactionState


def test_numbers_and_titles_are_those_of_the_log_and_the_protocol():
    assert [(each.value, each.title) for each in S] == [
        (0, "Empty"),
        (1, "Ongoing"),
        (2, "PrepareCommit"),
        (3, "PrepareAbort"),
        (4, "CompleteCommit"),
        (5, "CompleteAbort"),
        (6, "Dead"),
        (7, "PrepareEpochFence"),
    ]
    assert STATES_BY_TITLE["PrepareAbort"] is S.PREPARE_ABORT


def test_every_state_has_predecessors():
    assert set(KAFKA_PREDECESSORS) == set(LEGAL_PREDECESSORS) == set(S)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (S.ONGOING, S.COMPLETE_COMMIT),
        (S.ONGOING, S.COMPLETE_ABORT),
        (S.EMPTY, S.COMPLETE_ABORT),
        (S.PREPARE_COMMIT, S.COMPLETE_COMMIT),
        (S.PREPARE_EPOCH_FENCE, S.COMPLETE_ABORT),
        (S.COMPLETE_ABORT, S.ONGOING),
    ],
)
def test_legal_transition(before, after):
    assert raise_if_illegal_transition(before, after) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (S.EMPTY, S.COMPLETE_COMMIT),
        (S.COMPLETE_COMMIT, S.COMPLETE_COMMIT),
        (S.PREPARE_COMMIT, S.COMPLETE_ABORT),
        (S.PREPARE_ABORT, S.COMPLETE_COMMIT),
        (S.PREPARE_COMMIT, S.ONGOING),
        (S.ONGOING, S.EMPTY),
        (S.ONGOING, S.DEAD),
        (S.DEAD, S.EMPTY),
    ],
)
def test_illegal_transition_is_our_fault(before, after):
    with pytest.raises(InternalError, match="must not go from"):
        raise_if_illegal_transition(before, after)

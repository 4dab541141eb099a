"""The states of a transactional id, and which may follow which.

Kafka's table, with one addition: Complete may follow Ongoing (and, for the abort of nothing that
KIP-890 allows, any state at rest) without a Prepare in between, because here both are one append.
Dead and PrepareEpochFence are steps that Kafka takes in memory only; a log never holds them.
"""

from __future__ import annotations

from enum import IntEnum

from headrace.model.errors import InternalError


class TransactionState(IntEnum):
    """The numbers stand in the log; ``title`` is what clients are shown and filter by."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def title(self) -> str:
        return _TITLES[self]


_TITLES = {
    TransactionState.EMPTY: "Empty",
    TransactionState.ONGOING: "Ongoing",
    TransactionState.PREPARE_COMMIT: "PrepareCommit",
    TransactionState.PREPARE_ABORT: "PrepareAbort",
    TransactionState.COMPLETE_COMMIT: "CompleteCommit",
    TransactionState.COMPLETE_ABORT: "CompleteAbort",
    TransactionState.DEAD: "Dead",
    TransactionState.PREPARE_EPOCH_FENCE: "PrepareEpochFence",
}

STATES_BY_TITLE = {title: state for state, title in _TITLES.items()}

COMPLETE = frozenset({TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
AT_REST = COMPLETE | {TransactionState.EMPTY}
"""No transaction is open: the id may be initialised again, may begin, may expire."""
PREPARED = frozenset(
    {
        TransactionState.PREPARE_COMMIT,
        TransactionState.PREPARE_ABORT,
        TransactionState.PREPARE_EPOCH_FENCE,
    }
)
"""The outcome is decided, and not yet carried out."""

KAFKA_PREDECESSORS = {
    TransactionState.EMPTY: AT_REST,
    TransactionState.ONGOING: AT_REST | {TransactionState.ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
    TransactionState.PREPARE_ABORT: AT_REST
    | {TransactionState.ONGOING, TransactionState.PREPARE_EPOCH_FENCE},
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
    TransactionState.DEAD: AT_REST,
    TransactionState.PREPARE_EPOCH_FENCE: frozenset({TransactionState.ONGOING}),
}

_COLLAPSED_PREDECESSORS = {
    TransactionState.COMPLETE_COMMIT: KAFKA_PREDECESSORS[TransactionState.PREPARE_COMMIT],
    TransactionState.COMPLETE_ABORT: KAFKA_PREDECESSORS[TransactionState.PREPARE_ABORT],
}

LEGAL_PREDECESSORS = {
    state: before | _COLLAPSED_PREDECESSORS.get(state, frozenset())
    for state, before in KAFKA_PREDECESSORS.items()
}


def raise_if_illegal_transition(before: TransactionState, after: TransactionState) -> None:
    if before not in LEGAL_PREDECESSORS[after]:
        raise InternalError(f"a transaction must not go from {before.title} to {after.title}")

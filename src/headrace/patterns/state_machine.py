"""Idempotent consumer, fourth form: the entity's state says whether an event was applied.

The events are a table: event -> {state before: state after}. An event whose result lies on the way
to the present state was applied before; any other is illegal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from headrace.model.errors import InvalidConfig
from headrace.patterns.errors import EntityNotFound, IllegalTransition
from headrace.patterns.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Table
    from sqlalchemy.orm import Session

Transitions = dict[str, dict[str, str]]


def states_after(transitions: Transitions, state: str) -> frozenset[str]:
    """``state`` and every state that can follow it."""
    reached = {state}
    waiting = [state]
    while waiting:  # ends: each state enters `reached` once
        present = waiting.pop()
        for moves in transitions.values():
            following = moves.get(present)
            if following is not None and following not in reached:
                reached.add(following)
                waiting.append(following)
    return frozenset(reached)


def raise_if_cyclic(transitions: Transitions) -> None:
    """With a way back, a state would not tell whether an event was applied."""
    for event, moves in transitions.items():
        for before, after in moves.items():
            if before in states_after(transitions, after):
                raise InvalidConfig(
                    f"event {event!r} leads from {before!r} to {after!r}, and a way leads back: "
                    "a state must not come twice; use Version or record_and_check here"
                )


class StateMachine:
    """Moves rows of ``table`` from state to state, each event of each row once."""

    def __init__(
        self,
        table: Table,
        key_column: str,
        transitions: Mapping[str, Mapping[str, str]],
        state_column: str = "state",
    ) -> None:
        self._table = table
        self._key = table.c[key_column]
        self._state = table.c[state_column]
        self._transitions: Transitions = {e: dict(moves) for e, moves in transitions.items()}
        raise_if_cyclic(self._transitions)

    def apply(self, session: Session, key: Any, event: str) -> Outcome:
        """Move the row ``key`` in the caller's transaction; do the rest only if it is APPLIED."""
        moves = self._transitions.get(event)
        if moves is None:
            raise IllegalTransition(
                f"unknown event {event!r}; the table knows {sorted(self._transitions)}"
            )
        for before, after in moves.items():
            statement = (
                update(self._table)
                .where(self._key == key, self._state == before)
                .values({self._state.name: after})
                .returning(self._key)
            )
            if session.execute(statement).first() is not None:
                return Outcome.APPLIED
        return self._judge(session, key, event, moves)

    def _judge(self, session: Session, key: Any, event: str, moves: dict[str, str]) -> Outcome:
        present = session.execute(select(self._state).where(self._key == key)).scalar_one_or_none()
        if present is None:
            raise EntityNotFound(
                f"{self._table.name} has no row {key!r}: handle the message that creates it "
                "first, or deliver this one again later"
            )
        if any(present in states_after(self._transitions, after) for after in moves.values()):
            return Outcome.DUPLICATE
        raise IllegalTransition(
            f"{self._table.name} {key!r} is {present!r}; {event!r} is allowed in "
            f"{sorted(moves)}: send the message to a dead-letter topic, or add the transition"
        )

"""Orders: placed by customers, confirmed when paid, cancelled when stock or money is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tables import orders, orders_metadata

from headrace.patterns import Outcome, StateMachine, UniqueKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.orm import Session

    Emit = Callable[[Session, str, dict[str, Any]], None]

METADATA = orders_metadata
TOPIC = "orders"
READS = ["stock", "payment"]

placed_once = UniqueKey(orders, "order_id")
EVENTS = {
    "stock-refused": {"placed": "cancelled"},
    "payment-charged": {"placed": "confirmed"},
    "payment-refused": {"placed": "cancelling"},
    # Topics have no order among each other: the release may be heard of first.
    "stock-released": {"placed": "cancelled", "cancelling": "cancelled"},
}
states = StateMachine(orders, "order_id", EVENTS)


def place(session: Session, order: dict[str, Any], emit: Emit) -> None:
    """Called by the customer's request, perhaps twice: a request may be repeated too."""
    if placed_once.insert(session, {**order, "state": "placed"}) is Outcome.APPLIED:
        emit(session, "order-placed", order)


def _move(event: str) -> Callable[[Session, dict[str, Any], Emit], None]:
    def step(session: Session, order: dict[str, Any], emit: Emit) -> None:
        states.apply(session, order["order_id"], event)

    return step


STEPS = {event: _move(event) for event in EVENTS}

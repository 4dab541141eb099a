"""Stock: reserves goods for an order, and gives them back if the order is not paid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import update
from tables import reservations, shelves, stock_metadata

from headrace.patterns import Outcome, StateMachine, UniqueKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.orm import Session

    Emit = Callable[[Session, str, dict[str, Any]], None]

METADATA = stock_metadata
TOPIC = "stock"
READS = ["orders", "payment"]

reserved_once = UniqueKey(reservations, "order_id")
states = StateMachine(reservations, "order_id", {"release": {"reserved": "released"}})


def _take(session: Session, sku: str, quantity: int) -> bool:
    enough = update(shelves).where(shelves.c.sku == sku, shelves.c.available >= quantity)
    taken = enough.values(available=shelves.c.available - quantity).returning(shelves.c.sku)
    return session.execute(taken).first() is not None


def reserve(session: Session, order: dict[str, Any], emit: Emit) -> None:
    row = {name: order[name] for name in ("order_id", "sku", "quantity")}
    if reserved_once.insert(session, {**row, "state": "reserved"}) is Outcome.DUPLICATE:
        return
    if _take(session, order["sku"], order["quantity"]):
        emit(session, "stock-reserved", order)
        return
    refused = update(reservations).where(reservations.c.order_id == order["order_id"])
    session.execute(refused.values(state="refused"))
    emit(session, "stock-refused", order)


def release(session: Session, order: dict[str, Any], emit: Emit) -> None:
    """The compensation."""
    if states.apply(session, order["order_id"], "release") is Outcome.DUPLICATE:
        return
    shelf = update(shelves).where(shelves.c.sku == order["sku"])
    session.execute(shelf.values(available=shelves.c.available + order["quantity"]))
    emit(session, "stock-released", order)


STEPS = {"order-placed": reserve, "payment-refused": release}

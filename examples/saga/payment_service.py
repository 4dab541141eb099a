"""Payment: charges the customer of an order whose goods are reserved, or refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import update
from tables import accounts, payment_metadata, payments

from headrace.patterns import Outcome, UniqueKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.orm import Session

    Emit = Callable[[Session, str, dict[str, Any]], None]

METADATA = payment_metadata
TOPIC = "payment"
READS = ["stock"]

paid_once = UniqueKey(payments, "order_id")


def _debit(session: Session, customer: str, cents: int) -> bool:
    enough = update(accounts).where(accounts.c.customer == customer, accounts.c.cents >= cents)
    debited = enough.values(cents=accounts.c.cents - cents).returning(accounts.c.customer)
    return session.execute(debited).first() is not None


def charge(session: Session, order: dict[str, Any], emit: Emit) -> None:
    row = {name: order[name] for name in ("order_id", "customer", "cents")}
    if paid_once.insert(session, {**row, "state": "charged"}) is Outcome.DUPLICATE:
        return
    if _debit(session, order["customer"], order["cents"]):
        emit(session, "payment-charged", order)
        return
    refused = update(payments).where(payments.c.order_id == order["order_id"])
    session.execute(refused.values(state="refused"))
    emit(session, "payment-refused", order)


STEPS = {"stock-reserved": charge}

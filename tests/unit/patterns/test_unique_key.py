"""Double delivery of a message that creates a row."""

from __future__ import annotations

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, Text, func, select
from sqlalchemy.orm import Session

from headrace.model.errors import InvalidConfig
from headrace.patterns import Outcome, UniqueKey

payments = Table(
    "payments",
    MetaData(),
    Column("order_id", Text, primary_key=True),
    Column("cents", Integer),
)


def test_second_delivery_inserts_nothing_and_leaves_the_transaction_usable(engine):
    payments.create(engine)
    once = UniqueKey(payments, "order_id")
    for expected in (Outcome.APPLIED, Outcome.DUPLICATE):
        with Session(engine) as session, session.begin():
            assert once.insert(session, {"order_id": "42", "cents": 100}) is expected
            assert session.execute(select(func.count()).select_from(payments)).scalar_one() == 1


def test_roll_back_takes_the_record_of_the_key_with_it(engine):
    payments.create(engine)
    once = UniqueKey(payments, "order_id")
    with Session(engine) as session:
        once.insert(session, {"order_id": "42", "cents": 100})
        session.rollback()
    with Session(engine) as session, session.begin():
        assert once.insert(session, {"order_id": "42", "cents": 100}) is Outcome.APPLIED


def test_unknown_column_is_refused_at_once():
    with pytest.raises(InvalidConfig, match="name its unique columns"):
        UniqueKey(payments, "order")

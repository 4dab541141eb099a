"""Double, late and illegal events."""

from __future__ import annotations

import pytest
from sqlalchemy import Column, MetaData, Table, Text, insert, select
from sqlalchemy.orm import Session

from headrace.model.errors import InvalidConfig
from headrace.patterns import Outcome, StateMachine
from headrace.patterns.errors import EntityNotFound, IllegalTransition

orders = Table("orders", MetaData(), Column("id", Text, primary_key=True), Column("state", Text))
TRANSITIONS = {
    "paid": {"new": "paid"},
    "shipped": {"paid": "shipped"},
    "cancelled": {"new": "cancelled", "paid": "cancelled"},
}


@pytest.fixture
def session(engine):
    orders.create(engine)
    with Session(engine) as session:
        session.execute(insert(orders).values(id="42", state="new"))
        yield session


def test_each_event_is_applied_once_also_when_it_comes_late(session):
    machine = StateMachine(orders, "id", TRANSITIONS)
    assert machine.apply(session, "42", "paid") is Outcome.APPLIED
    assert machine.apply(session, "42", "paid") is Outcome.DUPLICATE
    assert machine.apply(session, "42", "shipped") is Outcome.APPLIED
    assert machine.apply(session, "42", "paid") is Outcome.DUPLICATE
    assert session.execute(select(orders.c.state)).scalar_one() == "shipped"


def test_illegal_event_is_an_error_that_names_the_allowed_states(session):
    machine = StateMachine(orders, "id", TRANSITIONS)
    with pytest.raises(IllegalTransition, match=r"is 'new'; 'shipped' is allowed in \['paid'\]"):
        machine.apply(session, "42", "shipped")
    with pytest.raises(IllegalTransition, match="unknown event 'lost'"):
        machine.apply(session, "42", "lost")


def test_unknown_row_is_an_error(session):
    with pytest.raises(EntityNotFound):
        StateMachine(orders, "id", TRANSITIONS).apply(session, "43", "paid")


def test_table_with_a_way_back_is_refused():
    with pytest.raises(InvalidConfig, match="a way leads back"):
        StateMachine(orders, "id", {"open": {"shut": "open"}, "close": {"open": "shut"}})

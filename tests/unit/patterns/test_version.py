"""Double delivery, late delivery and early delivery of versioned changes."""

from __future__ import annotations

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, Text, insert, select
from sqlalchemy.orm import Session

from headrace.patterns import Outcome, Version
from headrace.patterns.errors import EntityNotFound, VersionGap

prices = Table(
    "prices",
    MetaData(),
    Column("sku", Text, primary_key=True),
    Column("version", Integer),
    Column("cents", Integer),
)


@pytest.fixture
def session(engine):
    prices.create(engine)
    with Session(engine) as session:
        session.execute(insert(prices).values(sku="tea", version=1, cents=10))
        yield session


def stored(session):
    return session.execute(select(prices.c.version, prices.c.cents)).one()


def test_each_version_is_applied_once_and_old_ones_change_nothing(session):
    change = Version(prices, "sku")
    assert change.update(session, "tea", 2, {"cents": 20}) is Outcome.APPLIED
    assert change.update(session, "tea", 2, {"cents": 20}) is Outcome.DUPLICATE
    assert change.update(session, "tea", 3, {"cents": 30}) is Outcome.APPLIED
    assert change.update(session, "tea", 2, {"cents": 20}) is Outcome.DUPLICATE
    assert stored(session) == (3, 30)


def test_version_that_comes_too_early_is_an_error_and_changes_nothing(session):
    with pytest.raises(VersionGap, match="version 2 is missing"):
        Version(prices, "sku").update(session, "tea", 3, {"cents": 30})
    assert stored(session) == (1, 10)


def test_unknown_row_is_an_error(session):
    with pytest.raises(EntityNotFound, match="has no row 'gold'"):
        Version(prices, "sku").update(session, "gold", 2, {"cents": 1})

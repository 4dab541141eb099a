"""Double delivery to a handler whose effect has no key of its own."""

from __future__ import annotations

import pytest
from sqlalchemy import MetaData, func, select
from sqlalchemy.orm import Session

from headrace.patterns import Outcome, RecordAndCheck


@pytest.fixture
def metadata(engine):
    return MetaData()


def make(metadata, engine, consumer="stock", now_ms=lambda: 1_000):
    check = RecordAndCheck(metadata, consumer, identify=str, now_ms=now_ms)
    metadata.create_all(engine)
    return check


def test_handler_runs_once_per_message_and_consumer(metadata, engine):
    calls = []
    handlers = [
        make(metadata, engine, name)(lambda _, message, name=name: calls.append((name, message)))
        for name in ("stock", "mail")
    ]
    outcomes = []
    for handler in handlers * 2:
        with Session(engine) as session, session.begin():
            outcomes.append(handler(session, "m1"))
    assert calls == [("stock", "m1"), ("mail", "m1")]
    assert outcomes == [Outcome.APPLIED] * 2 + [Outcome.DUPLICATE] * 2


def test_failed_handler_leaves_no_record(metadata, engine):
    check = make(metadata, engine)

    @check
    def handler(session, message):
        raise ValueError("no stock")

    with pytest.raises(ValueError, match="no stock"), Session(engine) as session, session.begin():
        handler(session, "m1")
    with Session(engine) as session, session.begin():
        assert check.first_time(session, "m1")


def test_forget_deletes_old_records_only(metadata, engine):
    clock = [1_000]
    check = make(metadata, engine, now_ms=lambda: clock[0])
    with Session(engine) as session, session.begin():
        for clock[0] in (1_000, 5_000):
            check.first_time(session, str(clock[0]))
        assert check.forget(session, older_than_ms=2_000) == 1
        assert session.execute(select(func.count()).select_from(check.table)).scalar_one() == 1

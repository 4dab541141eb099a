"""Rows of the outbox: in the caller's transaction, never with an id that was used before."""

from __future__ import annotations

import pytest
from sqlalchemy import MetaData, create_mock_engine, delete, select
from sqlalchemy.orm import Session

from headrace.model.errors import InvalidRequest
from headrace.patterns import MESSAGE_ID_HEADER, Outbox
from headrace.patterns.errors import PatternTablesMissing, UnsupportedDatabase
from headrace.patterns.outbox import VALUE_BYTES_MAX, decode_headers


def test_row_commits_with_the_callers_transaction_or_not_at_all(engine, outbox):
    with Session(engine) as session:
        outbox.add(session, "orders", "1", "lost")
        session.rollback()
    with Session(engine) as session, session.begin():
        outbox.add(session, "orders", "1", "kept", {"a": "b", "c": b"\xff"})
    with engine.connect() as connection:
        row = connection.execute(select(outbox.rows)).one()
    assert (row.topic, row.key, row.value) == ("orders", b"1", b"kept")
    assert decode_headers(row.headers) == [("a", b"b"), ("c", b"\xff")]


def test_id_of_a_deleted_row_is_never_given_again(engine, outbox):
    ids = []
    for _ in range(3):
        with Session(engine) as session, session.begin():
            ids.append(outbox.add(session, "orders", None, None))
        with engine.begin() as connection:
            connection.execute(delete(outbox.rows))
    assert ids == [1, 2, 3]


def test_outbox_keeps_its_id_when_tables_are_created_again(engine, outbox):
    with engine.connect() as connection:
        first = outbox.outbox_id(connection)
    outbox.create_tables(engine)
    with engine.connect() as connection:
        assert outbox.outbox_id(connection) == first


def test_missing_id_says_what_to_call(engine):
    metadata = MetaData()
    outbox = Outbox(metadata)
    metadata.create_all(engine)
    with engine.connect() as connection, pytest.raises(PatternTablesMissing, match="create_tables"):
        outbox.outbox_id(connection)


@pytest.mark.parametrize(
    ("topic", "value", "headers", "advice"),
    [
        ("", b"", {}, "name the topic"),
        ("orders", bytes(VALUE_BYTES_MAX + 1), {}, "send a reference"),
        ("orders", b"", {MESSAGE_ID_HEADER: "x"}, "leave it out"),
    ],
)
def test_message_that_could_not_be_sent_is_refused_when_added(
    engine, outbox, topic, value, headers, advice
):
    with Session(engine) as session, pytest.raises(InvalidRequest, match=advice):
        outbox.add(session, topic, None, value, headers)


def test_other_database_is_refused_by_name():
    engine = create_mock_engine("sqlite://", lambda *_: None)
    engine.dialect.name = "oracle"
    with pytest.raises(UnsupportedDatabase, match=r"oracle is not supported.*postgresql, sqlite"):
        Outbox(MetaData()).create_tables(engine)

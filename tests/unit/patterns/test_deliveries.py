"""Store first, then send: a receiver that is down for an hour gets everything afterwards."""

from __future__ import annotations

import pytest
from sqlalchemy import MetaData, select
from sqlalchemy.orm import Session

from headrace.model.errors import InvalidRequest
from headrace.patterns import Deliveries
from headrace.patterns.deliveries import BODY_BYTES_MAX

HOUR_MS = 3_600_000


@pytest.fixture
def clock():
    return [0]


@pytest.fixture
def deliveries(engine, clock):
    metadata = MetaData()
    deliveries = Deliveries(metadata, now_ms=lambda: clock[0])
    metadata.create_all(engine)
    return deliveries


def test_receiver_that_is_down_for_an_hour_gets_each_message_afterwards(engine, deliveries, clock):
    received = []

    def send(delivery):
        if clock[0] < HOUR_MS:
            raise ConnectionError("down")
        received.append((delivery.id, delivery.body))

    with Session(engine) as session, session.begin():
        stored = [(deliveries.store(session, "mail", b"%d" % n), b"%d" % n) for n in range(3)]
    while clock[0] <= HOUR_MS + 60_000:
        deliveries.send_due(engine, send)
        clock[0] += 30_000
    assert sorted(received) == sorted(stored)


def test_pause_between_attempts_doubles_up_to_its_limit(engine, deliveries, clock):
    attempts_ms = []

    def send(delivery):
        attempts_ms.append(clock[0])
        raise TimeoutError

    with Session(engine) as session, session.begin():
        deliveries.store(session, "mail", b"")
    for clock[0] in range(0, 200_000, 1_000):
        deliveries.send_due(engine, send)
    assert attempts_ms == [0, 1_000, 3_000, 7_000, 15_000, 31_000, 63_000, 123_000, 183_000]
    with engine.connect() as connection:
        assert connection.execute(select(deliveries.table.c.last_failure)).scalar_one()


def test_message_of_a_rolled_back_transaction_is_not_sent(engine, deliveries):
    with Session(engine) as session:
        deliveries.store(session, "mail", b"")
        session.rollback()
    assert deliveries.send_due(engine, lambda _: None) == 0


def test_body_over_the_limit_is_refused(engine, deliveries):
    with Session(engine) as session, pytest.raises(InvalidRequest, match="send a reference"):
        deliveries.store(session, "mail", bytes(BODY_BYTES_MAX + 1))

"""The relay with SQLite and a broker in the process: crashes at each of its steps."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from headrace.patterns import Relay, message_id
from headrace.patterns.errors import OutboxRowRefused, OutboxTailLost, RelayNotLeader
from headrace.patterns.relay_claim import Claim


class Crash(Exception):
    """Stands for the end of the process."""


@pytest.fixture
def waits():
    return []


@pytest.fixture
def make_relay(engine, outbox, config, waits):
    relays = []

    def make(**options):
        relays.append(Relay(engine, outbox, config, sleep=waits.append, **options))
        return relays[-1]

    yield make
    for relay in relays:
        relay.close()


def add(engine, outbox, topic, values):
    with Session(engine) as session, session.begin():
        for value in values:
            outbox.add(session, topic, "k", str(value))


def values_of(messages):
    return [int(message.value()) for message in messages]


def rows_left(engine, outbox):
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(outbox.rows)).scalar_one()


def test_rows_are_sent_in_order_with_their_ids_and_deleted(
    engine, outbox, make_relay, own_topic, read_topic
):
    topic = own_topic
    add(engine, outbox, topic, range(1_200))  # more than two batches
    assert make_relay().run_once() == 1_200
    messages = read_topic(topic)
    assert values_of(messages) == list(range(1_200))
    assert len({message_id(message) for message in messages}) == 1_200
    assert rows_left(engine, outbox) == 0


def test_crash_after_sending_is_read_back_and_nothing_is_sent_twice(
    engine, outbox, make_relay, own_topic, read_topic, monkeypatch, waits
):
    topic = own_topic
    relay = make_relay(send_timeout_s=7)
    add(engine, outbox, topic, range(10))

    def crash_after_sending(connection, ids):
        if ids:
            raise Crash

    monkeypatch.setattr(relay, "_delete", crash_after_sending)
    with pytest.raises(Crash):
        relay.run_once()
    relay.close()
    assert rows_left(engine, outbox) == 10
    add(engine, outbox, topic, range(10, 15))
    assert make_relay().run_once() == 5
    assert values_of(read_topic(topic)) == list(range(15))
    assert waits == [8.0]


def test_crash_before_sending_loses_nothing(
    engine, outbox, make_relay, own_topic, read_topic, monkeypatch
):
    topic = own_topic
    relay = make_relay()
    add(engine, outbox, topic, range(3))
    monkeypatch.setattr(relay, "_send", lambda batch: (_ for _ in ()).throw(Crash))
    with pytest.raises(Crash):
        relay.run_once()
    relay.close()
    assert make_relay().run_once() == 3
    assert values_of(read_topic(topic)) == [0, 1, 2]


def test_crash_in_mid_batch_sends_the_rest_only(
    engine, outbox, make_relay, own_topic, read_topic, monkeypatch
):
    topic = own_topic
    relay = make_relay()
    add(engine, outbox, topic, range(10))
    send = relay._send

    def send_half(batch):
        send(batch[:5])
        raise Crash

    monkeypatch.setattr(relay, "_send", send_half)
    with pytest.raises(Crash):
        relay.run_once()
    relay.close()
    assert make_relay().run_once() == 5
    assert values_of(read_topic(topic)) == list(range(10))


def test_topic_that_did_not_exist_before_the_crash_is_read_from_its_start(
    engine, outbox, make_relay, read_topic, monkeypatch
):
    relay = make_relay()
    add(engine, outbox, "made-by-the-relay", range(4))
    monkeypatch.setattr(relay, "_delete", lambda _, ids: (_ for _ in ()).throw(Crash) if ids else 0)
    with pytest.raises(Crash):
        relay.run_once()
    relay.close()
    assert make_relay().run_once() == 0
    assert values_of(read_topic("made-by-the-relay")) == [0, 1, 2, 3]


def test_second_relay_waits_until_the_first_ends(engine, outbox, make_relay):
    first, second = make_relay(), make_relay()
    assert first.run_once() == 0
    with pytest.raises(RelayNotLeader, match="another relay works on headrace_outbox"):
        second.run_once()
    first.close()
    assert second.run_once() == 0


def test_row_that_cannot_be_sent_stops_the_relay_and_keeps_the_rows_behind_it(
    engine, outbox, make_relay, broker, read_topic
):
    topic = broker.create_topic("small-messages", config={"max.message.bytes": "1000"})
    with Session(engine) as session, session.begin():
        for value in (b"0", b"1" * 5_000, b"2"):
            outbox.add(session, topic, "k", value)
    with pytest.raises(OutboxRowRefused, match="outbox row 2 cannot be sent"):
        make_relay().run_once()
    assert [message.value() for message in read_topic(topic)] == [b"0"]


def test_rows_that_are_too_large_only_together_are_sent_one_by_one(
    engine, outbox, make_relay, broker, read_topic
):
    topic = broker.create_topic("small-requests", config={"max.message.bytes": "1000"})
    values = [bytes([65 + n]) * 600 for n in range(3)]
    with Session(engine) as session, session.begin():
        for value in values:
            outbox.add(session, topic, "k", value)
    assert make_relay().run_once() == 3
    assert [message.value() for message in read_topic(topic)] == values


def test_tail_that_retention_deleted_stops_the_relay_until_a_person_decides(
    engine, outbox, make_relay, broker, config, own_topic
):
    topic = own_topic
    producer = Producer(config)
    for _ in range(5):
        producer.produce(topic, b"other")
    assert producer.flush(10) == 0
    admin = AdminClient(config)
    place = TopicPartition(topic, 0, 4)
    admin.delete_records([place])[place].result(10)
    add(engine, outbox, topic, [1])
    with engine.begin() as connection:
        claim = Claim(0.0, {topic: {0: 2}}).to_text()
        connection.execute(outbox.state.update().values(claim=claim))
    with pytest.raises(OutboxTailLost, match=r"begins at 4.*accept_loss_of_tail=True"):
        make_relay().run_once()
    assert make_relay(accept_loss_of_tail=True).run_once() == 1

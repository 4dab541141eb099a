"""The loop commits the database first and the offset afterwards."""

from __future__ import annotations

import threading

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from sqlalchemy import Column, MetaData, Table, Text, insert, select

from headrace.model.errors import InvalidConfig
from headrace.patterns import ConsumerLoop, Outcome, RecordAndCheck

effects = Table("effects", MetaData(), Column("value", Text))


def test_message_whose_handler_failed_comes_again_and_has_one_effect(engine, config, own_topic):
    effects.create(engine)
    metadata = MetaData()
    once = RecordAndCheck(metadata, "test")
    metadata.create_all(engine)
    producer = Producer(config)
    for value in ("a", "b"):
        producer.produce(own_topic, value)
    assert producer.flush(10) == 0
    stop = threading.Event()
    outcomes = []
    failures = [ValueError("first attempt of b")]

    @once
    def work(session, message):
        session.execute(insert(effects).values(value=message.value().decode()))
        if message.value() == b"b" and failures:
            raise failures.pop()

    def handler(session, message):
        outcomes.append(work(session, message))
        if message.value() == b"b":
            stop.set()

    def loop():
        return ConsumerLoop({**config, "group.id": own_topic}, [own_topic], engine, handler)

    with pytest.raises(ValueError, match="first attempt"):
        loop().run(stop)
    loop().run(stop)
    assert outcomes == [Outcome.APPLIED, Outcome.APPLIED]
    with engine.connect() as connection:
        assert connection.execute(select(effects.c.value)).scalars().all() == ["a", "b"]


def test_group_is_required(engine):
    with pytest.raises(InvalidConfig, match=r"needs a 'group.id'"):
        ConsumerLoop({}, ["t"], engine, lambda *_: None)


class BeyondHelp:
    """A message that is no message: the client tells that it cannot go on."""

    def error(self):
        return KafkaError(KafkaError._FATAL, "fenced")


def test_client_that_cannot_go_on_ends_the_loop(engine):
    loop = ConsumerLoop({"group.id": "g"}, ["t"], engine, lambda *_: None)
    with pytest.raises(KafkaException, match="fenced"):
        loop._handle(None, BeyondHelp())

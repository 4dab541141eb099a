"""A database file, a broker shared by the package's tests, and a reader of topics."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition
from sqlalchemy import MetaData, create_engine

from headrace.patterns import Outbox
from headrace.testing import Broker


@pytest.fixture
def engine(tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path / 'service.db'}")
    yield engine
    engine.dispose()


@pytest.fixture
def outbox(engine):
    outbox = Outbox(MetaData())
    outbox.create_tables(engine)
    return outbox


@pytest.fixture(scope="package")
def broker():
    with Broker() as broker:
        yield broker


@pytest.fixture
def config(broker):
    return {"bootstrap.servers": broker.bootstrap_servers}


@pytest.fixture
def read_topic(config):
    """``read_topic(topic)`` gives all messages of partition 0."""

    def read(topic):
        consumer = Consumer({**config, "group.id": "reader", "enable.partition.eof": True})
        consumer.assign([TopicPartition(topic, 0, 0)])
        messages = []
        try:
            while True:
                message = consumer.poll(10)
                assert message is not None, "the broker does not answer"
                if message.error() is None:
                    messages.append(message)
                    continue
                assert message.error().code() == KafkaError._PARTITION_EOF
                return messages
        finally:
            consumer.close()

    return read


@pytest.fixture
def own_topic(broker, request):
    """A topic for this test alone."""
    return broker.create_topic(f"t-{abs(hash(request.node.nodeid))}")

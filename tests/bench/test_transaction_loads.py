"""The transactional clients of the bench against a real broker in this process."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from bench.transaction_loads import fill_with_transactions, transactions
from headrace.testing import Broker


@pytest.fixture(scope="module")
def broker():
    with Broker() as running:
        yield running


def count_of(broker, topic, isolation_level):
    """Records that a consumer is shown."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "count",
            "isolation.level": isolation_level,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    count = 0
    try:
        while True:
            message = consumer.poll(30.0)
            assert message is not None, "the broker does not answer"
            if message.error() is not None:
                assert message.error().code() == KafkaError._PARTITION_EOF
                return count
            count += 1
    finally:
        consumer.close()


def test_producers_commit_one_transaction_after_the_other(broker):
    broker.create_topic("rates", partitions=2)
    figures = transactions(
        broker.bootstrap_servers,
        "rates",
        partitions=2,
        producers=2,
        records=3,
        size=10,
        warm_seconds=0.0,
        seconds=0.5,
        label="rates",
    )
    assert figures["rate"] > 0
    assert 0 < figures["p50"] <= figures["p99"]


def test_a_load_that_cannot_commit_tells_why(broker):
    with pytest.raises(Exception, match="failed delivery"):
        transactions(
            broker.bootstrap_servers,
            "no/such/topic",
            partitions=1,
            producers=1,
            records=1,
            size=10,
            warm_seconds=0.0,
            seconds=0.5,
            label="refused",
        )


def test_filling_commits_as_many_as_asked_for_and_aborts_others(broker):
    topic = broker.create_topic("filled-by-transactions")
    answer = fill_with_transactions(
        broker.bootstrap_servers,
        topic,
        count=50,
        size=10,
        records=10,
        abort_every=3,
        label="filling",
    )
    assert answer == {"transactions": 7.0}
    assert count_of(broker, topic, "read_committed") == 50
    assert count_of(broker, topic, "read_uncommitted") == 70

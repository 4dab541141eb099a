"""Transactions of an unmodified librdkafka: commit, abort, fencing, time-out, and kill -9."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from .broker_process import BrokerProcess
from .deadline import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.interop

PARTITIONS = 2
READ_SECONDS = 20.0
CALL_SECONDS = 20.0


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    options = ["--set", "group.initial.rebalance.delay.ms=0"]
    with BrokerProcess(tmp_path / "data", options) as broker:
        yield broker


@pytest.fixture
def topic(broker: BrokerProcess) -> str:
    name = f"orders-{uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(name, PARTITIONS)])[name].result(CALL_SECONDS)
    return name


def producer(broker: BrokerProcess, transactional_id: str, *, timeout_ms: int = 60_000) -> Producer:
    made = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout_ms,
            "message.timeout.ms": timeout_ms,
            "reconnect.backoff.max.ms": 200,
            "retry.backoff.ms": 50,
            "log_level": 0,
        }
    )
    made.init_transactions(CALL_SECONDS)
    return made


def send(made: Producer, topic: str, *values: bytes) -> None:
    for number, value in enumerate(values):
        made.produce(topic, value, partition=number % PARTITIONS)
    assert made.flush(CALL_SECONDS) == 0


def committed(broker: BrokerProcess, topic: str) -> set[bytes]:
    """All committed records: each partition is read until its end is reached."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
    values: set[bytes] = set()
    open_partitions = set(range(PARTITIONS))
    while open_partitions:
        message = consumer.poll(READ_SECONDS)
        assert message is not None, "the end of a partition was not reached in time"
        if message.error() is None:
            value = message.value()
            assert value not in values, "a record was shown twice"
            values.add(value)
        else:
            assert message.error().code() == KafkaError._PARTITION_EOF
            open_partitions.discard(message.partition())
    consumer.close()
    return values


def test_commit_and_abort(broker: BrokerProcess, topic: str) -> None:
    made = producer(broker, "t")
    for number, is_commit in enumerate((True, False, True)):
        made.begin_transaction()
        send(made, topic, b"a%d" % number, b"b%d" % number)
        if is_commit:
            made.commit_transaction(CALL_SECONDS)
        else:
            made.abort_transaction(CALL_SECONDS)
    assert committed(broker, topic) == {b"a0", b"b0", b"a2", b"b2"}


def test_second_producer_fences_the_first(broker: BrokerProcess, topic: str) -> None:
    first = producer(broker, "t")
    first.begin_transaction()
    send(first, topic, b"first")
    second = producer(broker, "t")
    with pytest.raises(KafkaException) as refused:
        first.commit_transaction(CALL_SECONDS)
    assert refused.value.args[0].fatal()
    assert refused.value.args[0].code() == KafkaError._FENCED
    second.begin_transaction()
    send(second, topic, b"second")
    second.commit_transaction(CALL_SECONDS)
    assert committed(broker, topic) == {b"second"}


def test_commit_after_the_time_out_is_refused(broker: BrokerProcess, topic: str) -> None:
    slow = producer(broker, "slow", timeout_ms=1_000)
    slow.begin_transaction()
    send(slow, topic, b"late")
    other = producer(broker, "other")
    other.begin_transaction()
    send(other, topic, b"other")
    other.commit_transaction(CALL_SECONDS)
    # Its readers wait at the open transaction until the time of that one is over.
    wait_until(lambda: bool(committed(broker, topic)), "the time-out", READ_SECONDS)
    assert committed(broker, topic) == {b"other"}
    with pytest.raises(KafkaException) as refused:
        slow.commit_transaction(CALL_SECONDS)
    assert refused.value.args[0].fatal()


@pytest.mark.parametrize("durability", ["page-cache", "fsync"])
def test_transactions_survive_kills(tmp_path: Path, durability: str) -> None:
    options = ["--set", f"durability={durability}"]
    with BrokerProcess(tmp_path / "data", options) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_topics([NewTopic("t", PARTITIONS)])["t"].result(CALL_SECONDS)
        made = producer(broker, "t")
        expected: set[bytes] = set()
        for number in range(3):
            values = (b"a%d" % number, b"b%d" % number)
            made.begin_transaction()
            send(made, "t", *values)
            broker.kill()
            broker.start()
            if number == 1:
                made.abort_transaction(CALL_SECONDS)
            else:
                made.commit_transaction(CALL_SECONDS)
                expected |= set(values)
        broker.kill()
        broker.start()
        assert committed(broker, "t") == expected

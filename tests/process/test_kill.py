"""kill -9 under load, again and again: what was acknowledged is there, once and in order.

HEADRACE_TEST_KILL_CYCLES=N repeats it more often.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.deadline import wait_until
from tests.process.load import (
    CommittingConsumer,
    NumberedProducer,
    committed_offsets,
    read_to_end,
)

if TYPE_CHECKING:
    from tests.interop.broker_process import BrokerProcess

CYCLES = int(os.environ.get("HEADRACE_TEST_KILL_CYCLES", "5"))
PARTITIONS = 4
TOPIC, GROUP = "numbers", "readers"
RECORDS_PER_CYCLE_MIN = 300
PROGRESS_SECONDS_MAX = 30.0
ADMIN_SECONDS_MAX = 20.0
SEED = 20_240_611


class TopicLedger:
    """Creates and deletes topics, and remembers which of it was acknowledged."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
        self._count = 0
        self.present: set[str] = set()
        self.absent: set[str] = set()

    def next_name(self) -> str:
        self._count += 1
        return f"ledger-{self._count}"

    def create(self, name: str, partitions: int = 2) -> None:
        future = self._admin.create_topics([NewTopic(name, partitions, 1)])[name]
        future.result(ADMIN_SECONDS_MAX)
        self.present.add(name)

    def delete(self, name: str) -> None:
        self._admin.delete_topics([name])[name].result(ADMIN_SECONDS_MAX)
        self.present.discard(name)
        self.absent.add(name)

    def create_under_fire(self, broker: BrokerProcess) -> None:
        """The broker dies while it creates; whatever it said must be true afterwards."""
        name = self.next_name()
        future = self._admin.create_topics(
            [NewTopic(name, 2, 1)], request_timeout=2.0, operation_timeout=0.0
        )[name]
        broker.kill()
        try:
            future.result(ADMIN_SECONDS_MAX)
            self.present.add(name)
        except KafkaException as error:
            if error.args[0].code() not in (KafkaError._TIMED_OUT, KafkaError._TRANSPORT):
                raise  # no answer is fine; a wrong one is not

    def verify(self) -> None:
        found = set(self._admin.list_topics(timeout=ADMIN_SECONDS_MAX).topics)
        assert self.present <= found
        assert not self.absent & found


@pytest.mark.slow
@pytest.mark.timeout(60 + 30 * CYCLES)
@pytest.mark.parametrize("durability", ["page-cache", "fsync"])
def test_nothing_acknowledged_is_lost(durability: str, make_broker):
    broker = make_broker(f"durability={durability}", "group.initial.rebalance.delay.ms=0")
    address = broker.bootstrap_servers
    chance = random.Random(SEED)
    ledger = TopicLedger(address)
    ledger.create(TOPIC, PARTITIONS)
    producer = NumberedProducer(address, TOPIC, PARTITIONS)
    consumer = CommittingConsumer(address, TOPIC, GROUP)
    producer.start()
    consumer.start()
    for _ in range(CYCLES):
        target = producer.acknowledged_count + RECORDS_PER_CYCLE_MIN + chance.randrange(300)
        wait_until(
            lambda target=target: producer.acknowledged_count >= target,
            "the producer gets on",
            PROGRESS_SECONDS_MAX,
            lambda: (producer.failures, broker.log_tail()),
            interval_s=0.005,
        )
        ledger.create(ledger.next_name())
        gone = ledger.next_name()
        ledger.create(gone)
        ledger.delete(gone)
        ledger.create_under_fire(broker)
        promised = dict(consumer.committed)
        broker.start()
        now = committed_offsets(address, GROUP)
        assert all(now.get(partition, -1) >= offset for partition, offset in promised.items())
        ledger.verify()
    producer.finish()
    wait_until(
        lambda: consumer.committed == producer.sent,
        "the group reads all and commits it",
        PROGRESS_SECONDS_MAX,
        lambda: (consumer.committed, producer.sent),
    )
    consumer.finish()
    assert committed_offsets(address, GROUP) == producer.sent
    verify_log(address, producer)


def verify_log(address: str, producer: NumberedProducer) -> None:
    """Offsets have no gap, the records are the numbers, each once, where it was said they are."""
    for partition, count in producer.sent.items():
        records = read_to_end(address, TOPIC, partition)
        assert [record.offset() for record in records] == list(range(count))
        assert [int(record.value()) for record in records] == list(range(count))
        told = producer.acknowledged[partition]
        assert sorted(told) == list(range(count))
        assert all(offset in (number, -1001) for number, offset in told.items())

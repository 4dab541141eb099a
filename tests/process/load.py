"""Clients that work while the broker is killed and comes back, and remember what they were told.

The producer is idempotent and retries by itself; every record carries its partition's own number,
so that a loss, a duplicate or a wrong order shows in the log itself.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

JOIN_SECONDS_MAX = 30.0
FLUSH_SECONDS_MAX = 30.0
QUEUE_MESSAGES_MAX = 2_000
READ_COUNT_MAX = 10_000
READ_SECONDS_MAX = 20.0
READ_WAIT_SECONDS = 0.3


class NumberedProducer(threading.Thread):
    """Sends 0, 1, 2, ... to each partition, as fast as it is acknowledged, until told to stop."""

    def __init__(self, bootstrap_servers: str, topic: str, partitions: int) -> None:
        super().__init__(name="numbered-producer", daemon=True)
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "enable.idempotence": True,
                "linger.ms": 2,
                "queue.buffering.max.messages": QUEUE_MESSAGES_MAX,
                "reconnect.backoff.max.ms": 100,
                "retry.backoff.ms": 20,
                "message.timeout.ms": 60_000,
                "log_level": 0,
            }
        )
        self._topic = topic
        self._partitions = partitions
        self._ending = threading.Event()
        self.sent = dict.fromkeys(range(partitions), 0)
        self.acknowledged: dict[int, dict[int, int]] = defaultdict(dict)
        """Partition to number to offset."""
        self.failures: list[str] = []

    @property
    def acknowledged_count(self) -> int:
        return sum(len(offsets) for offsets in self.acknowledged.values())

    def run(self) -> None:
        turn = 0
        while not self._ending.is_set():
            partition = turn % self._partitions
            try:
                self._producer.produce(
                    self._topic,
                    b"%d" % self.sent[partition],
                    partition=partition,
                    on_delivery=self._delivered,
                )
                self.sent[partition] += 1
                turn += 1
            except BufferError:
                self._producer.poll(0.01)
            self._producer.poll(0)

    def finish(self) -> None:
        """Send nothing new; all that was sent must be acknowledged."""
        self._ending.set()
        self.join(JOIN_SECONDS_MAX)
        assert not self.is_alive()
        assert self._producer.flush(FLUSH_SECONDS_MAX) == 0
        assert self.failures == []

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(str(error))
        else:
            self.acknowledged[message.partition()][int(message.value())] = message.offset()


class CommittingConsumer(threading.Thread):
    """A member of a group that commits what it has read, and remembers what was acknowledged."""

    def __init__(self, bootstrap_servers: str, topic: str, group: str) -> None:
        super().__init__(name="committing-consumer", daemon=True)
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": 6_000,
                "heartbeat.interval.ms": 500,
                "reconnect.backoff.max.ms": 100,
                "check.crcs": True,
                "log_level": 0,
            }
        )
        self._topic = topic
        self._ending = threading.Event()
        self.committed: dict[int, int] = {}
        self.wrong_records: list[str] = []
        self.commits = 0

    def run(self) -> None:
        self._consumer.subscribe([self._topic])
        while not self._ending.is_set():
            messages = self._consumer.consume(500, timeout=0.2)
            read = {m.partition(): m.offset() + 1 for m in messages if self._is_sound(m)}
            if read:
                self._commit(read)
        self._consumer.close()

    def finish(self) -> None:
        self._ending.set()
        self.join(JOIN_SECONDS_MAX)
        assert not self.is_alive()
        assert self.wrong_records == []

    def _is_sound(self, message: Message) -> bool:
        if message.error() is not None:
            return False  # the broker is away; librdkafka tries again
        if int(message.value()) != message.offset():
            self.wrong_records.append(
                f"{message.value()!r} at {message.partition()}:{message.offset()}"
            )
        return True

    def _commit(self, positions: dict[int, int]) -> None:
        offsets = [TopicPartition(self._topic, p, offset) for p, offset in positions.items()]
        try:
            done = self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException:
            return  # the broker is away, or the generation is over: not acknowledged
        for partition in done:
            if partition.error is None:
                self.committed[partition.partition] = partition.offset
        self.commits += 1


def committed_offsets(bootstrap_servers: str, group: str) -> dict[int, int]:
    """Partition to offset, as the broker has it."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    request = [ConsumerGroupTopicPartitions(group)]
    answer = admin.list_consumer_group_offsets(request)[group].result(JOIN_SECONDS_MAX)
    return {p.partition: p.offset for p in answer.topic_partitions}


def read_to_end(bootstrap_servers: str, topic: str, partition: int) -> list[Message]:
    """All records of a partition, checksums checked by the client."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "reader",
            "enable.auto.commit": False,
            "check.crcs": True,
            "log_level": 0,
        }
    )
    where = TopicPartition(topic, partition)
    low, high = consumer.get_watermark_offsets(where, timeout=JOIN_SECONDS_MAX)
    consumer.assign([TopicPartition(topic, partition, low)])
    records: list[Message] = []
    position = low
    deadline_s = time.monotonic() + READ_SECONDS_MAX
    while position < high:
        count = min(high - position, READ_COUNT_MAX)
        messages = consumer.consume(count, timeout=READ_WAIT_SECONDS)
        assert messages or time.monotonic() < deadline_s, f"{topic}-{partition} ends at {position}"
        for message in messages:
            assert message.error() is None, message.error()
            records.append(message)
            position = message.offset() + 1
    consumer.close()
    return records

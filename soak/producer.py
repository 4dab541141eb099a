"""A producer that sends at a steady pace, whatever becomes of the broker, and tells the history."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from headrace.testing.history import stamped
from headrace.testing.history_stamps import STAMP_BYTES

from .clients import JOIN_SECONDS_MAX, TOMBSTONE_HEADER, ClientStuck, client_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.testing.history import History
    from headrace.testing.history_lane import Lane

    from .topics import LoadTopic

TURN_SECONDS = 0.005
DEBT_SECONDS_MAX = 0.25
"""After a pause it goes on at its pace; it does not catch up on more than this."""
QUEUE_MESSAGES_MAX = 100_000
BATCH_BYTES_MAX = 8_000
"""What has gathered while the broker was away must fit into the smallest segments."""
FAILURES_MAX = 100
KEYS_PER_PRODUCER = 200
TOMBSTONE_PART = 0.15


@dataclass(frozen=True)
class ProducerPlan:
    """How one producer works; ``settings`` are librdkafka's."""

    name: str
    topics: Sequence[LoadTopic]
    records_per_second: float
    value_bytes: int = 100
    settings: dict[str, Any] = field(default_factory=dict)
    burst_records: int = 0
    burst_interval_s: float = 30.0


@dataclass(frozen=True)
class _Slot:
    """One partition, as this producer's turn comes to it."""

    topic: LoadTopic
    partition: int
    lane: Lane


class PacedProducer(threading.Thread):
    """Idempotent. ``stop`` and ``finish`` are called from outside."""

    def __init__(self, bootstrap_servers: str, plan: ProducerPlan, history: History) -> None:
        super().__init__(name=plan.name, daemon=True)
        self._plan = plan
        self._slots = [
            _Slot(topic, partition, history.lane(plan.name, topic.name, partition))
            for topic in plan.topics
            for partition in range(topic.partitions)
        ]
        self._chance = random.Random(plan.name)
        body_bytes = max(plan.value_bytes - STAMP_BYTES, 0)
        self._filler = bytes(self._chance.choices(b"abcdefgh", k=body_bytes))
        self._stopping = threading.Event()
        self._sent = 0
        self.failures: list[str] = []
        settings = client_settings(
            bootstrap_servers,
            enable_idempotence=True,
            queue_buffering_max_messages=QUEUE_MESSAGES_MAX,
            batch_size=BATCH_BYTES_MAX,
            message_timeout_ms=120_000,
            retry_backoff_ms=20,
            retry_backoff_max_ms=100,
        )
        self._producer = Producer(settings | plan.settings)

    @property
    def acknowledged_count(self) -> int:
        return sum(slot.lane.acknowledged_count for slot in self._slots)

    @property
    def queued_count(self) -> int:
        return len(self._producer)

    def run(self) -> None:
        try:
            self._work()
        except KafkaException as error:
            self.failures.append(f"{self.name} can send no more: {error}")

    def _work(self) -> None:
        rate = self._plan.records_per_second
        start_s = time.monotonic()
        burst_due_s = start_s + self._plan.burst_interval_s
        paced = 0
        while not self._stopping.is_set():
            now_s = time.monotonic()
            due = int((now_s - start_s) * rate) - paced
            surplus = due - int(rate * DEBT_SECONDS_MAX)
            if surplus > 0:
                start_s += surplus / rate
                due -= surplus
            paced += due
            if now_s >= burst_due_s:
                burst_due_s += self._plan.burst_interval_s
                due += self._plan.burst_records
            for _ in range(due):
                self._send()
            self._producer.poll(TURN_SECONDS)

    def stop(self) -> None:
        """Send nothing new; what was sent is still delivered by ``finish``."""
        self._stopping.set()

    def finish(self) -> None:
        """All that was sent is answered."""
        self.stop()
        self.join(JOIN_SECONDS_MAX)
        left = self._producer.flush(JOIN_SECONDS_MAX)
        if left or self.is_alive():
            raise ClientStuck(f"{self.name}: {left} records are neither delivered nor refused")

    def _send(self) -> None:
        slot = self._slots[self._sent % len(self._slots)]
        self._sent += 1
        key = None
        is_tombstone = False
        if slot.topic.is_compacted:
            key = b"%s-%d" % (self.name.encode(), self._chance.randrange(KEYS_PER_PRODUCER))
            is_tombstone = self._chance.random() < TOMBSTONE_PART
        stamp = slot.lane.send(key, is_tombstone=is_tombstone)
        if is_tombstone:
            more: dict[str, Any] = {"headers": [(TOMBSTONE_HEADER, stamped(stamp, b"", key))]}
        else:
            more = {"value": stamped(stamp, self._filler, key)}
        answer = partial(self._answered, slot.lane, stamp.number)
        while True:
            try:
                self._producer.produce(
                    slot.topic.name, key=key, partition=slot.partition, on_delivery=answer, **more
                )
            except BufferError:
                self._producer.poll(0.01)
            else:
                return

    def _answered(
        self, lane: Lane, number: int, error: KafkaError | None, message: Message
    ) -> None:
        if error is not None:
            # Nothing in these runs can be refused: whatever is, is a finding.
            failure = f"{lane.where}: {error}"
            if failure not in self.failures and len(self.failures) < FAILURES_MAX:
                self.failures.append(failure)
            return
        offset = message.offset()
        lane.acknowledge(number, offset if offset is not None and offset >= 0 else None)

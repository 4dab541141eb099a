"""A static member that is alone under its instance id, and a broker that is killed and stays away
for longer than the member's session.

librdkafka then forgets its member id, keeps its generation, and sends the commits that it had put
off before it joins again. Whoever is fenced is told so by a fatal error, and never reads again.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from .broker_process import BrokerProcess
from .deadline import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.interop

TOPIC = "shelves"
SESSION_MS = 2_000
ROUNDS = 2
SECONDS_MAX = 60.0
OPTIONS = (
    *("--set", "group.min.session.timeout.ms=1000"),
    *("--set", "group.initial.rebalance.delay.ms=0"),
)


class SessionEnds(logging.Handler):
    """Counts how often the client gave its session up."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += record.getMessage().startswith("SESSTMOUT")


class Shelf(threading.Thread):
    """Reads until it is stopped, or fenced; offsets are committed in the background."""

    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__(daemon=True)
        self.session_ends = SessionEnds()
        logger = logging.getLogger("tests.static_member")
        logger.propagate = False
        logger.handlers = [self.session_ends]
        config = {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "shelf",
            "group.instance.id": "shelf-1",
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": SESSION_MS // 4,
            "auto.commit.interval.ms": 200,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "earliest",
        }
        self._consumer = Consumer(config, logger=logger)
        self.read = 0
        self.fatal: KafkaError | None = None
        self.stopped = threading.Event()

    def run(self) -> None:
        self._consumer.subscribe([TOPIC])
        while not self.stopped.is_set() and self.fatal is None:
            message = self._consumer.poll(0.05)
            error = message.error() if message is not None else None
            if error is not None:
                self.fatal = error if error.fatal() or error.code() == KafkaError._FATAL else None
            elif message is not None:
                self._store(message)
        self._consumer.close()

    def _store(self, message: object) -> None:
        self.read += 1
        try:
            self._consumer.store_offsets(message=message)  # type: ignore[arg-type]
        except KafkaException as failure:
            if failure.args[0].code() != KafkaError._STATE:
                raise
            # The session ended while the message was on its way to us: it will be read again.


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path / "data", OPTIONS) as broker:
        yield broker


def test_lone_static_member_outlives_a_broker_that_was_away(broker: BrokerProcess) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(TOPIC, 1)])[TOPIC].result(SECONDS_MAX)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    shelf = Shelf(broker.bootstrap_servers)
    shelf.start()

    def reads_on(before: int) -> bool:
        producer.produce(TOPIC, b"book")
        producer.poll(0)
        return shelf.read > before or shelf.fatal is not None

    for _ in range(ROUNDS):
        before, ends = shelf.read, shelf.session_ends.count
        wait_until(lambda before=before: reads_on(before), "reading goes on", SECONDS_MAX)  # type: ignore[misc]
        broker.kill()
        wait_until(lambda ends=ends: shelf.session_ends.count > ends, "session ends", SECONDS_MAX)  # type: ignore[misc]
        broker.start()
    before = shelf.read
    wait_until(lambda: reads_on(before), "reading goes on after the kills", SECONDS_MAX)
    shelf.stopped.set()
    shelf.join(SECONDS_MAX)
    assert shelf.fatal is None

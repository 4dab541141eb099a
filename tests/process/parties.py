"""The well-behaved party: it produces and reads all the time, and notices when that stops."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.create_topics import CreatableTopic, CreateTopicsRequest
from tests.interop.deadline import wait_until
from tests.wire.calls import batch, fetch, produce
from tests.wire.raw_client import RawClient

if TYPE_CHECKING:
    from tests.interop.broker_process import BrokerProcess

CREATE_TOPICS = 19
ROUNDS_EXPECTED = 20
PROGRESS_SECONDS_MAX = 10.0


def connect(broker: BrokerProcess) -> RawClient:
    return RawClient(int(broker.bootstrap_servers.rsplit(":", 1)[1]))


def create_topic(
    broker: BrokerProcess, name: str, partitions: int = 1, config: dict[str, str] | None = None
) -> None:
    from headrace.codecs.kafka.generated.create_topics import CreatableTopicConfig

    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=n, value=v) for n, v in (config or {}).items()],
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=10_000)
    with connect(broker) as client:
        answer = client.call(CREATE_TOPICS, 5, request)
    assert [t.error_code for t in answer.topics] == [0]


class NeighbourhoodWatch:
    """One connection that writes a record and reads it back, over and over, in a thread."""

    connections = 1

    def __init__(self, broker: BrokerProcess, topic: str) -> None:
        self._client = connect(broker)
        self._topic = topic
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="neighbourhood-watch", daemon=True)
        self.rounds = 0
        self.failure: Exception | None = None

    def __enter__(self) -> NeighbourhoodWatch:
        self._thread.start()
        self.expect_progress()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
        self._client.socket.close()

    def stop(self) -> None:
        """Keep the connection, but ask for nothing more."""
        self._ending.set()
        self._thread.join(PROGRESS_SECONDS_MAX)

    def expect_progress(self) -> None:
        """It must get on, whatever the others do."""
        target = self.rounds + ROUNDS_EXPECTED
        wait_until(
            lambda: self.rounds >= target or self.failure is not None,
            "a well-behaved client gets on",
            PROGRESS_SECONDS_MAX,
        )
        assert self.failure is None, self.failure

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                self._round()
            except Exception as error:
                self.failure = error
                return
            self.rounds += 1

    def _round(self) -> None:
        value = b"round %d" % self.rounds
        answer = produce(self._client, self._topic, {0: batch(value)})[0]
        assert answer.error_code == 0
        partition = fetch(self._client, self._topic, {0: answer.base_offset})[0]
        assert partition.error_code == 0
        assert value in bytes(partition.records)

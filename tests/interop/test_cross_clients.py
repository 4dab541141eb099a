"""What one client produced, with every codec it has, every other client reads byte for byte.

Offsets, keys, values, headers and timestamps are compared with what the producer was given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .conftest import ADMIN_CLIENT, CANNOT_STAMP, SPECS, client_parameter
from .registry import CLIENTS, FULL_CLIENTS
from .scenarios.declare import read
from .scenarios.records import KEEP_FOREVER, assert_same, corpus
from .values import CODECS, ConsumerSettings, Received

if TYPE_CHECKING:
    from .conftest import ClientPool

pytestmark = pytest.mark.interop


class ProducedTopics:
    """For each producing client one topic per codec, filled once."""

    def __init__(self, clients: ClientPool) -> None:
        self._clients = clients
        self._topics: dict[str, dict[str, str]] = {}

    def of(self, producer: str) -> dict[str, str]:
        """Topic by codec."""
        if producer not in self._topics:
            self._topics[producer] = self._fill(producer)
        return self._topics[producer]

    def _fill(self, producer: str) -> dict[str, str]:
        client = self._clients.get(producer)
        admin = self._clients.get(ADMIN_CLIENT)
        topics = {}
        for codec in CODECS:
            if SPECS[producer].obstacle((f"codec-{codec}",)) is None:
                topics[codec] = self._clients.unique_name(f"cross-{producer}-{codec}")
                admin.create_topic(topics[codec], configs=KEEP_FOREVER)
                client.produce(topics[codec], corpus(producer not in CANNOT_STAMP), codec)
        return topics


@pytest.fixture(scope="module")
def produced(clients: ClientPool) -> ProducedTopics:
    return ProducedTopics(clients)


def _read_topic(clients: ClientPool, consumer_name: str, topic: str, count: int) -> list[Received]:
    consumer = clients.get(consumer_name).open_consumer(ConsumerSettings(assign=((topic, 0),)))
    found = read(consumer, count)
    consumer.close()
    return found


PAIRS = [
    client_parameter(
        (producer, consumer), producer.name, consumer.name, id=f"{producer.name}-to-{consumer.name}"
    )
    for producer in CLIENTS
    for consumer in FULL_CLIENTS
    if producer is not consumer
]


@pytest.mark.parametrize(("producer_name", "consumer_name"), PAIRS)
def test_records_of_one_client_reach_another(
    producer_name: str, consumer_name: str, clients: ClientPool, produced: ProducedTopics
) -> None:
    sent = corpus(producer_name not in CANNOT_STAMP)
    topics = produced.of(producer_name)
    assert topics
    for codec, topic in topics.items():
        if SPECS[consumer_name].obstacle((f"codec-{codec}",)) is not None:
            continue
        found = _read_topic(clients, consumer_name, topic, len(sent))
        assert_same(sent, found, list(range(len(sent))))

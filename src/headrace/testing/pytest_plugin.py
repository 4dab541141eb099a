"""pytest fixtures for users of Headrace; installed with the package, active without any import.

def test_orders(headrace_broker, headrace_topic):
    producer = Producer({"bootstrap.servers": headrace_broker.bootstrap_servers})
    producer.produce(headrace_topic, b"hello")
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.testing.broker import Broker


@pytest.fixture(scope="session")
def headrace_broker() -> Iterator[Broker]:
    """A real broker in this process, shared by all tests of the run."""
    from headrace.testing.broker import Broker  # only tests that use it pay for the import

    with Broker() as broker:
        yield broker


@pytest.fixture
def headrace_topic(headrace_broker: Broker) -> str:
    """The name of a new topic with one partition, for this test alone."""
    return headrace_broker.create_topic(f"test-{uuid4().hex[:12]}")

"""Raw bytes against a real broker in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.wire.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.testing.broker import Broker


@pytest.fixture
def client(headrace_broker: Broker) -> Iterator[RawClient]:
    with RawClient(headrace_broker.port) as client:
        yield client

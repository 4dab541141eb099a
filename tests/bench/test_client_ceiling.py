"""Clients on brokers that do nothing: a figure comes out, and nothing else is running."""

from __future__ import annotations

import pytest

from bench import client_ceiling
from bench.peers import kafka_missing

NO_KAFKA = pytest.mark.skipif(bool(kafka_missing()), reason="Kafka's client comes with Kafka")


@pytest.mark.parametrize("client", ["librdkafka", pytest.param("java", marks=NO_KAFKA)])
def test_the_ceiling_is_measured_without_a_broker_of_ours(
    monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    monkeypatch.setattr(client_ceiling, "WARM_SECONDS", 0.1)
    monkeypatch.setattr(client_ceiling, "JAVA_WARM_SECONDS", 0.1)
    monkeypatch.setattr(client_ceiling, "SECONDS", 1.0)
    found = client_ceiling.measured(records=2, producers=2, client=client)
    assert found["rate"] > 0
    assert 0 < found["p50"] <= found["p99"]

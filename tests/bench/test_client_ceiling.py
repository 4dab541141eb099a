"""librdkafka on its own broker: a figure comes out, and nothing else is running."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import client_ceiling

if TYPE_CHECKING:
    import pytest


def test_the_ceiling_is_measured_without_a_broker_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_ceiling, "WARM_SECONDS", 0.1)
    monkeypatch.setattr(client_ceiling, "SECONDS", 0.5)
    found = client_ceiling.measured(records=2, producers=2)
    assert found["rate"] > 0
    assert 0 < found["p50"] <= found["p99"]

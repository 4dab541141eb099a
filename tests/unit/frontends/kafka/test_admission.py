"""How many connections there may be."""

from __future__ import annotations

from types import SimpleNamespace

from headrace.config.broker import BrokerConfig
from headrace.frontends.kafka.admission import Admission
from headrace.metrics.registry import Metrics


def admission(**settings: str) -> tuple[Admission, Metrics]:
    config = BrokerConfig.resolve({name.replace("_", "."): text for name, text in settings.items()})
    metrics = Metrics()
    return Admission(SimpleNamespace(config=config, metrics=metrics)), metrics  # type: ignore[arg-type]


def test_connections_are_counted_from_the_start_to_the_end() -> None:
    counts, metrics = admission()
    assert counts.enter("a") is counts.enter("a") is counts.enter("b") is None
    assert len(counts) == 3
    for host in ("a", "b", "a"):
        counts.leave(host)
    assert len(counts) == 0
    assert (metrics.connections_opened, metrics.connections_closed) == (3, 3)


def test_too_many_over_all_are_refused_until_one_leaves() -> None:
    counts, metrics = admission(max_connections="2")
    assert counts.enter("a") is counts.enter("b") is None
    assert counts.enter("c") == "max.connections=2 reached"
    counts.leave("a")
    assert counts.enter("c") is None
    assert metrics.connections_refused == 1


def test_too_many_from_one_address_are_refused() -> None:
    counts, _ = admission(max_connections_per_ip="1")
    assert counts.enter("a") is None
    assert counts.enter("a") == "max.connections.per.ip=1 reached"
    assert counts.enter("b") is None
    counts.leave("a")
    assert counts.enter("a") is None

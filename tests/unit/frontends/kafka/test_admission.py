"""How many connections there may be."""

from __future__ import annotations

from types import SimpleNamespace

from headrace.broker.quotas import QuotaAlteration
from headrace.config.broker import BrokerConfig
from headrace.coordination.metadata.quotas import QuotaChange
from headrace.frontends.kafka.admission import Admission
from headrace.metrics.registry import Metrics
from headrace.quotas.entities import QuotaEntity
from headrace.testing.metadata_bench import MetadataBench


def admission(bench: MetadataBench | None = None, **settings: str) -> tuple[Admission, Metrics]:
    config = BrokerConfig.resolve({name.replace("_", "."): text for name, text in settings.items()})
    metrics, quotas = Metrics(), (bench or MetadataBench()).quotas
    broker = SimpleNamespace(config=config, metrics=metrics, quotas=quotas)
    return Admission(broker), metrics  # type: ignore[arg-type]


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


def test_an_address_beyond_its_rate_of_connections_is_refused_and_others_are_not() -> None:
    bench = MetadataBench()
    rate = QuotaChange("connection_creation_rate", 1)
    assert bench.quotas.alter([QuotaAlteration(QuotaEntity(ip="10.0.0.1"), [rate])]) == [None]
    counts, metrics = admission(bench)
    refusals = [counts.enter("10.0.0.1") for _ in range(100)]
    assert refusals[0] is None
    assert "connection_creation_rate" in (refusals[-1] or "")
    assert counts.enter("10.0.0.2") is None
    assert len(counts) == refusals.count(None) + 1
    assert metrics.connections_refused == 100 - refusals.count(None)

"""The loads of the kill run: every part of the broker that writes is at work when it dies."""

from __future__ import annotations

from . import topics
from .load import GroupPlan, LoadPlan
from .producer import ProducerPlan

SETTINGS = (
    "group.initial.rebalance.delay.ms=0",
    "log.cleaner.backoff.ms=100",
    "log.retention.check.interval.ms=200",
    "log.initial.task.delay.ms=0",
    "log.flush.offset.checkpoint.interval.ms=500",
    "log.segment.delete.delay.ms=200",
)
RETENTION_MS = 3_000
DELETE_RETENTION_MS = 10_000
"""Longer than a scan takes: a reader that is slower may miss a deletion, in Kafka as well."""


def generation_plan(number: int) -> LoadPlan:
    """About 2,600 records a second while the broker is there, in all sorts of batches."""
    prefix = f"g{number}"
    plain = topics.plain(f"{prefix}-plain", 4)
    rolling = topics.rolling(f"{prefix}-rolling", 2)
    ageing = topics.ageing(f"{prefix}-ageing", 2, RETENTION_MS)
    compacted = topics.compacted(f"{prefix}-compacted", 2, DELETE_RETENTION_MS)
    trimmed = topics.trimmed(f"{prefix}-trimmed", 2)
    everything = (plain, rolling, ageing, compacted, trimmed)
    producers = (
        ProducerPlan(f"{prefix}-prompt", (plain, rolling), 400, 100, {"linger.ms": 0}),
        ProducerPlan(
            f"{prefix}-packed", everything, 1_200, 300, {"linger.ms": 5, "compression.type": "lz4"}
        ),
        ProducerPlan(
            f"{prefix}-slow",
            (plain, compacted, trimmed),
            1_000,
            200,
            {"linger.ms": 50, "compression.type": "zstd"},
        ),
    )
    groups = (
        GroupPlan(f"{prefix}-classic", "classic", 2, (plain, rolling)),
        GroupPlan(f"{prefix}-cooperative", "cooperative", 1, (plain, ageing)),
        GroupPlan(f"{prefix}-consumer", "consumer", 2, (plain, trimmed, compacted)),
    )
    return LoadPlan(everything, producers, groups)


def lifetime_plan() -> LoadPlan:
    """Little, but from the first kill to the last: one producer, one group."""
    kept = topics.plain("lifetime", 2)
    return LoadPlan(
        (kept,),
        (ProducerPlan("lifetime", (kept,), 100, 100, {"linger.ms": 5}),),
        (GroupPlan("lifetime", "classic", 1, (kept,)),),
    )

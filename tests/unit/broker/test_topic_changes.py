"""Topics are created, grown, deleted and reconfigured; crashes and full disks in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.broker.topics import TopicChange, TopicEvent
from headrace.coordination.metadata.topics import NewTopic
from headrace.model.errors import (
    DiskFull,
    InvalidConfig,
    InvalidReplicationFactor,
    PolicyViolation,
    TopicDeletionDisabled,
    TopicExists,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from headrace.model.topic import CONSUMER_OFFSETS_TOPIC, NO_TOPIC_ID, TopicPartition
from headrace.testing.faulty_disk import SimulatedCrash
from headrace.testing.metadata_bench import DATA, MetadataBench

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def bench() -> MetadataBench:
    return MetadataBench()


def test_created_topic_can_be_used_at_once(bench: MetadataBench) -> None:
    created = bench.changes.create(NewTopic("orders", 3, 1, {"retention.ms": "5"}))
    topic = bench.topics.get("orders")
    assert topic is not None
    assert (topic.id, created.partition_count) == (created.id, 3)
    assert [partition.index for partition in topic.partitions] == [0, 1, 2]
    assert topic.config.retention_ms == 5
    log = bench.logs.get(TopicPartition("orders", 2))
    assert topic.partitions[2].log is log
    assert bench.disk.exists(f"{DATA}/orders-2/partition.metadata")


@pytest.mark.parametrize("clean", [True, False])
def test_topics_are_the_same_after_a_restart(bench: MetadataBench, clean: bool) -> None:
    bench.create("orders", 3, retention_ms="5")
    bench.changes.grow("orders", 4)
    before = bench.topics.get("orders")
    bench.restart(clean=clean)
    after = bench.topics.get("orders")
    assert before is not None
    assert after is not None
    assert (after.id, len(after.partitions)) == (before.id, 4)
    assert (after.overrides, after.config) == (before.overrides, before.config)


def test_internal_topic_does_not_grow(bench: MetadataBench) -> None:
    bench.changes.ensure_internal_topic(CONSUMER_OFFSETS_TOPIC, 2, {})
    with pytest.raises(PolicyViolation, match="__consumer_offsets"):
        bench.changes.grow(CONSUMER_OFFSETS_TOPIC, 3)
    topic = bench.topics.get(CONSUMER_OFFSETS_TOPIC)
    assert topic is not None
    assert len(topic.partitions) == 2


def test_validation_alone_changes_nothing(bench: MetadataBench) -> None:
    created = bench.changes.create(NewTopic("orders", -1), validate_only=True)
    assert (created.id, created.partition_count) == (NO_TOPIC_ID, 1)
    assert "orders" not in bench.topics
    bench.create("orders")
    bench.changes.grow("orders", 5, validate_only=True)
    assert bench.topics.partition_count == 1


def test_illegal_setting_is_refused_before_anything_is_written(bench: MetadataBench) -> None:
    with pytest.raises(InvalidConfig, match="retention"):
        bench.create("orders", 1, retention_ms="soon")
    with pytest.raises(InvalidConfig, match="unknown"):
        bench.create("orders", 1, retention_hours="1")
    assert bench.store.state.topic("orders") is None


def test_default_replication_factor_of_the_broker_is_checked() -> None:
    bench = MetadataBench({"default.replication.factor": "3", "num.partitions": "7"})
    with pytest.raises(InvalidReplicationFactor, match="factor 3"):
        bench.changes.create(NewTopic("orders"))
    assert bench.changes.create(NewTopic("orders", -1, 1)).partition_count == 7


def test_deleted_topic_and_its_logs_are_gone(bench: MetadataBench) -> None:
    bench.create("orders", 2)
    topic_id = bench.changes.delete("orders")
    assert "orders" not in bench.topics
    assert bench.logs.get(TopicPartition("orders", 0)) is None
    assert not bench.disk.exists(f"{DATA}/orders-0")
    with pytest.raises(UnknownTopicOrPartition):
        bench.changes.delete("orders")
    with pytest.raises(UnknownTopicId):
        bench.changes.delete_by_id(topic_id)


def test_topic_that_is_created_again_has_another_id(bench: MetadataBench) -> None:
    first = bench.changes.create(NewTopic("orders", 1)).id
    assert bench.changes.delete_by_id(first) == "orders"
    second = bench.changes.create(NewTopic("orders", 1)).id
    assert first != second
    bench.restart(clean=False)
    topic = bench.topics.get("orders")
    assert topic is not None
    assert topic.id == second


def test_deletion_can_be_switched_off() -> None:
    bench = MetadataBench({"delete.topic.enable": "false"})
    bench.create("orders")
    with pytest.raises(TopicDeletionDisabled):
        bench.changes.delete("orders")


def test_internal_topic_is_created_once(bench: MetadataBench) -> None:
    overrides = {"cleanup.policy": "compact"}
    first = bench.changes.ensure_internal_topic("__consumer_offsets", 50, overrides)
    assert first.is_internal
    assert len(first.partitions) == 50
    assert bench.changes.ensure_internal_topic("__consumer_offsets", 3, {}) is first


def test_listeners_hear_of_everything(bench: MetadataBench) -> None:
    heard: list[TopicChange] = []
    bench.topics.on_change(heard.append)
    bench.create("orders")
    bench.changes.grow("orders", 2)
    bench.changes.delete("orders")
    events = [change.event for change in heard]
    assert events == [TopicEvent.CREATED, TopicEvent.GROWN, TopicEvent.DELETED]


def refusals(bench: MetadataBench, change: Callable[[], object]) -> int:
    """Let each operation of a change fail in turn until it works; how often it was refused."""
    for operation in range(100):
        bench.disk.fail_at(operation, DiskFull("no space"))
        try:
            change()
        except DiskFull:
            assert bench.topics.partition_count == bench.store.state.partition_count
            assert len(bench.logs.logs()) == bench.topics.partition_count
        else:
            return operation
    raise AssertionError("the change never worked")


def test_creation_that_the_disk_refuses_half_way_never_was(bench: MetadataBench) -> None:
    assert refusals(bench, lambda: bench.create("orders", 10)) > 0
    bench.restart(clean=False)
    assert bench.topics.partition_count == 10


def test_growth_that_the_disk_refuses_half_way_never_was(bench: MetadataBench) -> None:
    bench.create("orders")
    bench.settle()
    assert refusals(bench, lambda: bench.changes.grow("orders", 3)) > 0
    bench.restart(clean=False)
    assert bench.topics.partition_count == 3


def test_advanced_epochs_reach_the_partition_its_log_and_the_metadata(bench: MetadataBench) -> None:
    bench.create("orders", 2)
    bench.changes.advance_leader_epochs([TopicPartition("orders", 1)])
    partition = bench.topics.partition("orders", 1)
    assert partition is not None
    assert (partition.leader_epoch, partition.log.leader_epoch) == (1, 1)
    bench.restart(clean=False)
    epochs = [part.leader_epoch for part in bench.topics.partitions("orders") or ()]
    assert epochs == [0, 1]


def test_crash_anywhere_in_a_creation_leaves_all_of_it_or_nothing() -> None:
    for operation in range(30):
        bench = MetadataBench()
        bench.disk.crash_at(operation)
        crashed = False
        try:
            bench.create("orders", 3)
        except SimulatedCrash:
            crashed = True
        bench.restart(clean=False, power_loss=operation % 2 == 0)
        if "orders" in bench.topics:
            assert bench.topics.partition_count == 3
        else:
            bench.create("orders", 3)
        with pytest.raises(TopicExists):
            bench.create("orders", 3)
        if not crashed:
            return
    raise AssertionError("the creation has more operations than were tried")


def test_crash_anywhere_in_a_deletion_is_finished_at_start() -> None:
    for operation in range(60):
        bench = MetadataBench()
        bench.create("orders", 2)
        bench.settle()
        bench.disk.crash_at(operation)
        crashed = False
        try:
            bench.changes.delete("orders")
        except SimulatedCrash:
            crashed = True
        bench.restart(clean=False)
        if "orders" not in bench.topics:
            names = bench.disk.list(DATA)
            assert not [name for name in names if name in ("orders-0", "orders-1")]
            bench.create("orders", 2)
        assert bench.topics.partition_count == 2
        if not crashed:
            return
    raise AssertionError("the deletion has more operations than were tried")

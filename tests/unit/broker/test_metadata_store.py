"""The store: what is committed is there again after any kind of stop."""

from __future__ import annotations

import pytest

from headrace.broker.metadata_store import MetadataStore
from headrace.coordination.metadata.features import INITIAL_LEVELS
from headrace.coordination.metadata.record_codec import encode
from headrace.coordination.metadata.records import (
    FeatureLevelRecord,
    ForeignRecord,
    PartitionRecord,
    RecordType,
    TopicRecord,
    TransactionRecord,
)
from headrace.model.errors import StorageFailure
from headrace.storage.metadata_checkpoint import build_checkpoint
from headrace.storage.metadata_files import MetaProperties, uuid_text, write_meta_properties
from headrace.testing.faulty_disk import FaultyDisk
from headrace.testing.metadata_bench import CountingChance, MetadataBench
from headrace.testing.simulated_background import SimulatedBackground
from headrace.testing.simulated_clock import SimulatedClock

ID = b"i" * 16


def open_store(disk: FaultyDisk, configured_node_id: int = 1) -> MetadataStore:
    clock = SimulatedClock()
    return MetadataStore(
        "data",
        disk,
        clock,
        SimulatedBackground(clock),
        CountingChance(),
        configured_node_id=configured_node_id,
    )


def disk_of_node(node_id: int) -> FaultyDisk:
    disk = FaultyDisk()
    disk.make_directory("data")
    write_meta_properties(disk, "data", MetaProperties(uuid_text(ID), node_id, b"d" * 16))
    return disk


def test_new_directory_begins_with_the_features() -> None:
    store = open_store(FaultyDisk())
    assert store.state.features == INITIAL_LEVELS
    assert store.notices == []


def test_formatted_directory_begins_with_the_features_that_kafka_chose() -> None:
    disk = disk_of_node(1)
    values = [encode(FeatureLevelRecord("metadata.version", 25))]
    disk.replace_file("data/bootstrap.checkpoint", build_checkpoint(values, 0, 0))
    assert open_store(disk).state.features == {"metadata.version": 25}
    disk.kill()
    assert open_store(disk).state.features == {"metadata.version": 25}


def test_node_id_of_the_directory_wins_and_is_said() -> None:
    store = open_store(disk_of_node(5), configured_node_id=2)
    assert store.node.id == 5
    assert store.notices == [
        "the directory belongs to node 5: the configured node.id=2 is not used"
    ]


def test_change_is_there_after_the_process_was_killed() -> None:
    disk = FaultyDisk()
    store = open_store(disk)
    store.commit([TopicRecord("orders", ID)])
    disk.kill()
    again = open_store(disk)
    assert again.state.topic("orders") is not None
    assert again.cluster.cluster_id == store.cluster.cluster_id


def test_refused_write_leaves_the_state_as_it_was() -> None:
    disk = FaultyDisk()
    store = open_store(disk)
    disk.fail_next("write")
    with pytest.raises(StorageFailure):
        store.commit([TopicRecord("orders", ID)])
    assert store.state.topic("orders") is None


def test_leadership_of_partitions_without_a_leader_is_taken() -> None:
    disk = disk_of_node(1)
    store = open_store(disk)
    store.commit([TopicRecord("orders", ID), PartitionRecord(0, ID, (1,), (), -1, 4, 7)])
    disk.kill()
    topic = open_store(disk).state.topic("orders")
    assert topic is not None
    assert (topic.partitions[0].leader, topic.partitions[0].leader_epoch) == (1, 5)


def test_records_that_are_not_served_survive_a_snapshot() -> None:
    bench = MetadataBench(log_size_bytes_max=200)
    token = ForeignRecord(RecordType.DELEGATION_TOKEN, b"\x01\x0a\x00whatever")
    bench.store.commit([token])
    for number in range(20):
        bench.create(f"t{number}")
        bench.settle()
    names = bench.disk.list("data/__cluster_metadata-0")
    assert [name for name in names if name.endswith(".checkpoint")]
    bench.restart(clean=False)
    assert bench.store.state.foreign == [token]
    assert len(bench.topics) == 20
    assert any("delegation tokens" in notice for notice in bench.store.notices)


def test_unfinished_transaction_of_kafka_is_dropped_and_said() -> None:
    disk = disk_of_node(1)
    begin = b"\x01\x17\x00\x00"
    values = [encode(FeatureLevelRecord("metadata.version", 30)), begin]
    values.append(encode(TopicRecord("half", ID)))
    disk.make_directory("data/__cluster_metadata-0")
    name = "data/__cluster_metadata-0/00000000000000000003-0000000001.checkpoint"
    disk.replace_file(name, build_checkpoint(values, 1, 0))
    store = open_store(disk)
    assert store.state.topic("half") is None
    assert store.notices == ["an unfinished change of metadata was dropped (1 records)"]
    assert TransactionRecord(RecordType.BEGIN_TRANSACTION).type == begin[1]

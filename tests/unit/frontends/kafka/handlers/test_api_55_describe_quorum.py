"""DescribeQuorum: this node leads the metadata log, and is its only voter."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.describe_quorum import (
    DescribeQuorumRequest,
    RequestPartitionData,
    RequestTopicData,
)
from headrace.frontends.kafka.handlers.api_55_describe_quorum import handle
from headrace.security.acl import CLUSTER_NAME, Operation, ResourceType
from headrace.testing.metadata_bench import MetadataBench

from .administrator import CLUSTER_AUTHORIZATION_FAILED, Administrator

UNKNOWN_TOPIC_OR_PARTITION = 3


def quorum_of(*partitions: tuple[str, int]) -> DescribeQuorumRequest:
    return DescribeQuorumRequest(
        [RequestTopicData(name, [RequestPartitionData(index)]) for name, index in partitions]
    )


THE_QUORUM = quorum_of(("__cluster_metadata", 0))


def test_quorum_is_this_node() -> None:
    bench = MetadataBench({"node.id": "4"})
    answer = Administrator(bench).ask(handle, 2, THE_QUORUM)
    assert (answer.error_code, answer.error_message) == (0, None)
    ((partition,),) = [topic.partitions for topic in answer.topics]
    assert (partition.error_code, partition.leader_id) == (0, 4)
    assert partition.leader_epoch == bench.store.leader_epoch
    assert list(partition.observers) == []
    (voter,) = partition.current_voters
    assert (voter.replica_id, voter.replica_directory_id) == (4, bench.store.node.directory_id)
    now_ms = bench.clock.now_ms()
    assert (voter.last_fetch_timestamp, voter.last_caught_up_timestamp) == (now_ms, now_ms)
    (node,) = answer.nodes
    ((listener,),) = [node.listeners]
    assert (node.node_id, listener.host, listener.port) == (4, "broker.example", 9092)
    assert listener.name.isupper()


def test_offsets_follow_the_log_and_what_of_it_is_durable() -> None:
    bench = MetadataBench()
    before = bench.store.end_offset
    bench.create("orders", 2)
    answer = Administrator(bench).ask(handle, 1, THE_QUORUM)
    partition = answer.topics[0].partitions[0]
    end = before + 3  # a topic and two partitions
    assert partition.current_voters[0].log_end_offset == end
    assert partition.high_watermark == before
    bench.settle()
    answer = Administrator(bench).ask(handle, 1, THE_QUORUM)
    assert answer.topics[0].partitions[0].high_watermark == end


@pytest.mark.parametrize(
    "partitions",
    [
        [("orders", 0)],
        [("__cluster_metadata", 1)],
        [("__cluster_metadata", 0), ("orders", 0)],
    ],
)
def test_only_the_metadata_log_has_a_quorum(partitions: list[tuple[str, int]]) -> None:
    bench = MetadataBench()
    bench.create("orders")
    answer = Administrator(bench).ask(handle, 2, quorum_of(*partitions))
    assert answer.error_code == 0
    told = [
        (t.topic_name, p.partition_index, p.error_code) for t in answer.topics for p in t.partitions
    ]
    assert told == [(name, index, UNKNOWN_TOPIC_OR_PARTITION) for name, index in partitions]


def test_right_to_describe_the_cluster_is_needed() -> None:
    admin = Administrator(MetadataBench(), is_allowed=False)
    answer = admin.ask(handle, 2, THE_QUORUM)
    assert (answer.error_code, list(answer.topics)) == (CLUSTER_AUTHORIZATION_FAILED, [])
    assert admin.asked == [(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)]

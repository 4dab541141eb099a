"""Administration of one node over a socket, in every version that is served."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.codecs.kafka.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from headrace.codecs.kafka.generated.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from headrace.codecs.kafka.generated.describe_log_dirs import DescribeLogDirsRequest
from headrace.codecs.kafka.generated.describe_quorum import (
    DescribeQuorumRequest,
    RequestPartitionData,
    RequestTopicData,
)
from headrace.codecs.kafka.generated.elect_leaders import ElectLeadersRequest, TopicPartitions
from headrace.codecs.kafka.generated.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)
from headrace.codecs.kafka.generated.unregister_broker import UnregisterBrokerRequest
from headrace.codecs.kafka.generated.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from headrace.frontends.kafka.served_apis import HANDLERS
from headrace.testing import Broker
from tests.wire.raw_client import RawClient

if TYPE_CHECKING:
    from pathlib import Path

NODE = 1
TRANSACTIONS = "transaction.version"
UPGRADE, SAFE_DOWNGRADE = 1, 2
DESCRIBE_LOG_DIRS, UPDATE_FEATURES = 35, 57


def versions(key: int) -> list[int]:
    handler = HANDLERS[key]
    return list(range(handler.version_min, handler.version_max + 1))


def in_every_version(*keys: int) -> Any:
    pairs = [(key, version) for key in keys for version in versions(key)]
    return pytest.mark.parametrize(("key", "version"), pairs)


@in_every_version(34)
def test_partition_is_told_to_stay(
    client: RawClient, headrace_broker: Broker, key: int, version: int
) -> None:
    topic = headrace_broker.create_topic(f"moved-{version}", 2)
    described = client.call(DESCRIBE_LOG_DIRS, 5, DescribeLogDirsRequest(topics=None))
    path = described.results[0].log_dir
    wishes = [
        AlterReplicaLogDir(path, [AlterReplicaLogDirTopic(topic, [0, 9])]),
        AlterReplicaLogDir("/elsewhere", [AlterReplicaLogDirTopic(topic, [1])]),
    ]
    answer = client.call(key, version, AlterReplicaLogDirsRequest(wishes))
    told = [(each.partition_index, each.error_code) for each in answer.results[0].partitions]
    assert told == [(0, 0), (9, 3), (1, 57)]


@in_every_version(43)
def test_election_is_not_needed(
    client: RawClient, headrace_broker: Broker, key: int, version: int
) -> None:
    topic = headrace_broker.create_topic(f"elected-{version}")
    request = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic, [0, 1])])
    answer = client.call(key, version, request)
    (told,) = answer.replica_election_results
    assert [(each.partition_id, each.error_code) for each in told.partition_result] == [
        (0, 84),
        (1, 3),
    ]
    everything = client.call(key, version, ElectLeadersRequest(topic_partitions=None))
    assert list(everything.replica_election_results) == []


@in_every_version(45)
def test_replicas_stay_what_they_are(
    client: RawClient, headrace_broker: Broker, key: int, version: int
) -> None:
    topic = headrace_broker.create_topic(f"reassigned-{version}", 3)
    wishes = [[NODE], [NODE, 2], None]
    partitions = [ReassignablePartition(index, wish) for index, wish in enumerate(wishes)]
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(topic, partitions)])
    answer = client.call(key, version, request)
    assert answer.error_code == 0
    assert [each.error_code for each in answer.responses[0].partitions] == [0, 39, 85]


@in_every_version(46)
def test_nothing_is_being_reassigned(client: RawClient, key: int, version: int) -> None:
    answer = client.call(key, version, ListPartitionReassignmentsRequest())
    assert (answer.error_code, list(answer.topics)) == (0, [])


@in_every_version(55)
def test_quorum_is_this_node(
    client: RawClient, headrace_broker: Broker, key: int, version: int
) -> None:
    wanted = RequestTopicData("__cluster_metadata", [RequestPartitionData(0)])
    answer = client.call(key, version, DescribeQuorumRequest([wanted]))
    (partition,) = answer.topics[0].partitions
    (voter,) = partition.current_voters
    assert (answer.error_code, partition.error_code) == (0, 0)
    assert (partition.leader_id, voter.replica_id) == (NODE, NODE)
    assert 0 < partition.high_watermark <= voter.log_end_offset
    if version >= 1:
        assert voter.last_caught_up_timestamp > 0
    if version >= 2:
        assert answer.nodes[0].listeners[0].port == headrace_broker.port


@in_every_version(57)
def test_level_changes_and_changes_back(client: RawClient, key: int, version: int) -> None:
    def set_level(level: int, upgrade_type: int) -> Any:
        is_down = upgrade_type == SAFE_DOWNGRADE
        wish = FeatureUpdateKey(TRANSACTIONS, level, is_down, upgrade_type)
        return client.call(key, version, UpdateFeaturesRequest(feature_updates=[wish])).error_code

    assert set_level(1, UPGRADE) == 95
    assert set_level(1, SAFE_DOWNGRADE) == 0
    assert set_level(2, UPGRADE) == 0


@in_every_version(64)
def test_no_broker_is_unregistered(client: RawClient, key: int, version: int) -> None:
    assert client.call(key, version, UnregisterBrokerRequest(NODE)).error_code == 44
    assert client.call(key, version, UnregisterBrokerRequest(2)).error_code == 102


def test_level_is_there_after_a_restart(tmp_path: Path) -> None:
    wish = FeatureUpdateKey(TRANSACTIONS, 0, upgrade_type=SAFE_DOWNGRADE)
    with Broker(directory=str(tmp_path)) as broker, RawClient(broker.port) as client:
        before = broker.call(lambda server: server.broker.features.epoch)
        client.call(UPDATE_FEATURES, 2, UpdateFeaturesRequest(feature_updates=[wish]))
        finalized = broker.call(lambda server: server.broker.features.finalized())
        assert TRANSACTIONS not in finalized
    with Broker(directory=str(tmp_path)) as broker:
        assert broker.call(lambda server: server.broker.features.finalized()) == finalized
        assert broker.call(lambda server: server.broker.features.epoch) > before

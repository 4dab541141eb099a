"""Every API key and version with a request of somebody who may do nothing, and the codes it gets.

The codes are the same for whoever has logged in and whoever need not, but for the log-in itself.
``Names`` are those of things that exist, or of things that do not: the answers must not differ.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.codecs.kafka.generated import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_client_quotas,
    alter_configs,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    alter_user_scram_credentials,
    api_versions,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sasl_authenticate,
    sasl_handshake,
    sync_group,
    txn_offset_commit,
    unregister_broker,
    update_features,
    write_txn_markers,
)
from headrace.frontends.kafka.served_apis import HANDLERS
from tests.wire.calls import batch

if TYPE_CHECKING:
    from collections.abc import Callable

TOPIC, GROUP, CLUSTER, TRANSACTION = 29, 30, 31, 53
ILLEGAL_SASL_STATE = 34
BROKER_LOGGER = 8
"""As a resource of settings; AlterConfigs does not take it."""
LATEST = 99
"""As the last version of a row: whatever the handler serves."""


class Stranger(Enum):
    """Somebody without any right, by how the broker knows who he is."""

    ANONYMOUS = "anonymous"
    LOGGED_IN = "logged-in"


class Names(NamedTuple):
    topic: str
    topic_id: bytes
    group: str
    transactional_id: str
    user: str


class Row(NamedTuple):
    key: int
    build: Callable[[Names], Any]
    codes: frozenset[int]
    first: int
    last: int
    by_id: bool = False
    asked_by: frozenset[Stranger] = frozenset(Stranger)

    @property
    def versions(self) -> range:
        handler = HANDLERS[self.key]
        return range(max(self.first, handler.version_min), min(self.last, handler.version_max) + 1)


ROWS: list[Row] = []


def row(
    key: int,
    build: Callable[[Names], Any],
    *codes: int,
    first: int = 0,
    last: int = LATEST,
    by_id: bool = False,
    asked_by: Stranger | None = None,
) -> None:
    """``asked_by``: None is everybody."""
    strangers = frozenset(Stranger if asked_by is None else [asked_by])
    ROWS.append(Row(key, build, frozenset(codes), first, last, by_id, strangers))


# --- records ------------------------------------------------------------------------------------


def _produce(n: Names, transactional_id: str | None = None) -> Any:
    records = batch(b"v")
    if transactional_id is not None:
        records = batch(b"v", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    data = [produce.PartitionProduceData(0, records)]
    topics = [produce.TopicProduceData(n.topic, n.topic_id, data)]
    return produce.ProduceRequest(transactional_id, -1, 1000, topics)


def _fetch(n: Names) -> Any:
    partitions = [fetch.FetchPartition(partition=0, partition_max_bytes=1000)]
    topics = [fetch.FetchTopic(n.topic, n.topic_id, partitions)]
    return fetch.FetchRequest(topics=topics, min_bytes=1, max_wait_ms=5000)


row(0, _produce, TOPIC, last=12)
row(0, _produce, TOPIC, first=13, by_id=True)
row(0, lambda n: _produce(n, n.transactional_id), TRANSACTION, last=12)
row(1, _fetch, TOPIC, last=12)
row(1, _fetch, TOPIC, first=13, by_id=True)
row(
    2,
    lambda n: list_offsets.ListOffsetsRequest(
        -1,
        topics=[list_offsets.ListOffsetsTopic(n.topic, [list_offsets.ListOffsetsPartition(0)])],
    ),
    TOPIC,
)
row(
    21,
    lambda n: delete_records.DeleteRecordsRequest(
        [delete_records.DeleteRecordsTopic(n.topic, [delete_records.DeleteRecordsPartition(0, -1)])]
    ),
    TOPIC,
)
row(
    23,
    lambda n: offset_for_leader_epoch.OffsetForLeaderEpochRequest(
        topics=[
            offset_for_leader_epoch.OffsetForLeaderTopic(
                n.topic, [offset_for_leader_epoch.OffsetForLeaderPartition(0)]
            )
        ]
    ),
    TOPIC,
)

# --- topics -------------------------------------------------------------------------------------


def _metadata(topics: Any) -> Any:
    return metadata.MetadataRequest(
        topics,
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )


row(3, lambda n: _metadata([metadata.MetadataRequestTopic(name=n.topic)]), TOPIC)
row(
    3,
    lambda n: _metadata([metadata.MetadataRequestTopic(n.topic_id, None)]),
    TOPIC,
    first=12,
    by_id=True,
)
row(3, lambda n: _metadata([]), last=0)
row(3, lambda n: _metadata(None), first=1)
row(
    19,
    lambda n: create_topics.CreateTopicsRequest([create_topics.CreatableTopic(n.topic, 1, 1)]),
    TOPIC,
)
row(20, lambda n: delete_topics.DeleteTopicsRequest([n.topic], timeout_ms=1000), TOPIC, last=5)
row(
    20,
    lambda n: delete_topics.DeleteTopicsRequest(
        topics=[delete_topics.DeleteTopicState(n.topic)], timeout_ms=1000
    ),
    TOPIC,
    first=6,
)
row(
    20,
    lambda n: delete_topics.DeleteTopicsRequest(
        topics=[delete_topics.DeleteTopicState(None, n.topic_id)], timeout_ms=1000
    ),
    TOPIC,
    first=6,
    by_id=True,
)
row(
    37,
    lambda n: create_partitions.CreatePartitionsRequest(
        [create_partitions.CreatePartitionsTopic(n.topic, 9, None)]
    ),
    TOPIC,
)
row(
    75,
    lambda n: describe_topic_partitions.DescribeTopicPartitionsRequest(
        [describe_topic_partitions.TopicRequest(n.topic)]
    ),
    TOPIC,
)
row(75, lambda n: describe_topic_partitions.DescribeTopicPartitionsRequest([]))

# --- groups -------------------------------------------------------------------------------------


def offset_commit_request(n: Names) -> Any:
    partitions = [offset_commit.OffsetCommitRequestPartition(0, 7)]
    topics = [offset_commit.OffsetCommitRequestTopic(n.topic, n.topic_id, partitions)]
    return offset_commit.OffsetCommitRequest(n.group, topics=topics)


def _offset_fetch(n: Names) -> Any:
    return offset_fetch.OffsetFetchRequest(
        group_id=n.group,
        topics=[offset_fetch.OffsetFetchRequestTopic(n.topic, [0])],
        groups=[
            offset_fetch.OffsetFetchRequestGroup(
                n.group, topics=[offset_fetch.OffsetFetchRequestTopics(n.topic, n.topic_id, [0])]
            ),
        ],
    )


row(8, offset_commit_request, GROUP, last=9)
row(8, offset_commit_request, GROUP, first=10, by_id=True)
row(9, _offset_fetch, GROUP, last=9)
row(9, _offset_fetch, GROUP, first=10, by_id=True)
row(
    10,
    lambda n: find_coordinator.FindCoordinatorRequest(n.group, 0, [n.group]),
    GROUP,
)
row(
    10,
    lambda n: find_coordinator.FindCoordinatorRequest(n.transactional_id, 1, [n.transactional_id]),
    TRANSACTION,
    first=1,
)
row(
    11,
    lambda n: join_group.JoinGroupRequest(
        n.group,
        10_000,
        10_000,
        protocol_type="consumer",
        protocols=[join_group.JoinGroupRequestProtocol("range", b"")],
    ),
    GROUP,
)
row(12, lambda n: heartbeat.HeartbeatRequest(n.group, 1, "m"), GROUP)
row(
    13,
    lambda n: leave_group.LeaveGroupRequest(n.group, "m", [leave_group.MemberIdentity("m")]),
    GROUP,
)
row(14, lambda n: sync_group.SyncGroupRequest(n.group, 1, "m", None, "consumer", "range"), GROUP)
row(15, lambda n: describe_groups.DescribeGroupsRequest([n.group], True), GROUP)
row(16, lambda n: list_groups.ListGroupsRequest())
row(42, lambda n: delete_groups.DeleteGroupsRequest([n.group]), GROUP)
row(
    47,
    lambda n: offset_delete.OffsetDeleteRequest(
        n.group,
        [
            offset_delete.OffsetDeleteRequestTopic(
                n.topic, [offset_delete.OffsetDeleteRequestPartition(0)]
            )
        ],
    ),
    GROUP,
)
row(
    68,
    lambda n: consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
        n.group, "m" * 22, subscribed_topic_names=[n.topic], topic_partitions=[]
    ),
    GROUP,
)
row(69, lambda n: consumer_group_describe.ConsumerGroupDescribeRequest([n.group], True), GROUP)

# --- transactions -------------------------------------------------------------------------------


def _add_partitions(n: Names) -> Any:
    topics = [add_partitions_to_txn.AddPartitionsToTxnTopic(n.topic, [0])]
    transaction = add_partitions_to_txn.AddPartitionsToTxnTransaction(
        n.transactional_id, 1, 0, False, topics
    )
    return add_partitions_to_txn.AddPartitionsToTxnRequest(
        n.transactional_id, 1, 0, topics, [transaction]
    )


def _write_markers(n: Names) -> Any:
    topics = [write_txn_markers.WritableTxnMarkerTopic(n.topic, [0])]
    marker = write_txn_markers.WritableTxnMarker(
        producer_id=1, transaction_result=True, topics=topics
    )
    return write_txn_markers.WriteTxnMarkersRequest([marker])


def _txn_offset_commit(n: Names) -> Any:
    partitions = [txn_offset_commit.TxnOffsetCommitRequestPartition(0, 7)]
    topics = [txn_offset_commit.TxnOffsetCommitRequestTopic(n.topic, partitions)]
    return txn_offset_commit.TxnOffsetCommitRequest(
        n.transactional_id, n.group, 1, 0, topics=topics
    )


row(22, lambda n: init_producer_id.InitProducerIdRequest(None, 1000), CLUSTER)
row(22, lambda n: init_producer_id.InitProducerIdRequest(n.transactional_id, 1000), TRANSACTION)
row(24, _add_partitions, TRANSACTION, last=3)
row(24, _add_partitions, CLUSTER, first=4)
row(
    25,
    lambda n: add_offsets_to_txn.AddOffsetsToTxnRequest(n.transactional_id, 1, 0, n.group),
    TRANSACTION,
)
row(26, lambda n: end_txn.EndTxnRequest(n.transactional_id, 1, 0, True), TRANSACTION)
row(27, _write_markers, CLUSTER)
row(28, _txn_offset_commit, TRANSACTION)
row(
    61,
    lambda n: describe_producers.DescribeProducersRequest(
        [describe_producers.TopicRequest(n.topic, [0])]
    ),
    TOPIC,
)
row(
    65,
    lambda n: describe_transactions.DescribeTransactionsRequest([n.transactional_id]),
    TRANSACTION,
)
row(66, lambda n: list_transactions.ListTransactionsRequest())

# --- security -----------------------------------------------------------------------------------


def _sasl_handshake(_: Names) -> Any:
    return sasl_handshake.SaslHandshakeRequest("PLAIN")


row(17, _sasl_handshake, ILLEGAL_SASL_STATE, asked_by=Stranger.ANONYMOUS)
row(17, _sasl_handshake, ILLEGAL_SASL_STATE, last=0, asked_by=Stranger.LOGGED_IN)
# Whoever is in may log in again, as himself.
row(17, _sasl_handshake, first=1, asked_by=Stranger.LOGGED_IN)
row(36, lambda n: sasl_authenticate.SaslAuthenticateRequest(b"\0u\0p"), ILLEGAL_SASL_STATE)
row(18, lambda n: api_versions.ApiVersionsRequest("raw", "1"))
row(29, lambda n: describe_acls.DescribeAclsRequest(1, None, 1, None, None, 1, 1), CLUSTER)
row(
    30,
    lambda n: create_acls.CreateAclsRequest(
        [create_acls.AclCreation(2, n.topic, 3, f"User:{n.user}", "*", 2, 3)]
    ),
    CLUSTER,
)
row(
    31,
    lambda n: delete_acls.DeleteAclsRequest(
        [delete_acls.DeleteAclsFilter(1, None, 1, None, None, 1, 1)]
    ),
    CLUSTER,
)
row(
    50,
    lambda n: describe_user_scram_credentials.DescribeUserScramCredentialsRequest(
        [describe_user_scram_credentials.UserName(n.user)]
    ),
    CLUSTER,
)
row(
    51,
    lambda n: alter_user_scram_credentials.AlterUserScramCredentialsRequest(
        [alter_user_scram_credentials.ScramCredentialDeletion(n.user, 1)],
        [
            alter_user_scram_credentials.ScramCredentialUpsertion(
                n.user, 2, 4096, b"salt", bytes(64)
            )
        ],
    ),
    CLUSTER,
)

# --- settings and the cluster -------------------------------------------------------------------


def _resources(n: Names) -> list[tuple[int, str]]:
    """A topic, the broker, its loggers, a group."""
    return [(2, n.topic), (4, "1"), (4, ""), (8, "1"), (32, n.group)]


row(
    32,
    lambda n: describe_configs.DescribeConfigsRequest(
        [describe_configs.DescribeConfigsResource(*each, None) for each in _resources(n)]
    ),
    TOPIC,
    CLUSTER,
    GROUP,
)
row(
    33,
    lambda n: alter_configs.AlterConfigsRequest(
        [
            alter_configs.AlterConfigsResource(
                *each, [alter_configs.AlterableConfig("retention.ms", "1")]
            )
            for each in _resources(n)
            if each[0] != BROKER_LOGGER
        ]
    ),
    TOPIC,
    CLUSTER,
    GROUP,
)
row(
    44,
    lambda n: incremental_alter_configs.IncrementalAlterConfigsRequest(
        [
            incremental_alter_configs.AlterConfigsResource(
                *each, [incremental_alter_configs.AlterableConfig("retention.ms", 0, "1")]
            )
            for each in _resources(n)
        ]
    ),
    TOPIC,
    CLUSTER,
    GROUP,
)
row(
    34,
    lambda n: alter_replica_log_dirs.AlterReplicaLogDirsRequest(
        [
            alter_replica_log_dirs.AlterReplicaLogDir(
                "elsewhere", [alter_replica_log_dirs.AlterReplicaLogDirTopic(n.topic, [0])]
            )
        ]
    ),
    CLUSTER,
)
row(35, lambda n: describe_log_dirs.DescribeLogDirsRequest(None), last=2)
row(35, lambda n: describe_log_dirs.DescribeLogDirsRequest(None), CLUSTER, first=3)
row(
    43,
    lambda n: elect_leaders.ElectLeadersRequest(0, [elect_leaders.TopicPartitions(n.topic, [0])]),
    CLUSTER,
)
row(
    45,
    lambda n: alter_partition_reassignments.AlterPartitionReassignmentsRequest(
        topics=[
            alter_partition_reassignments.ReassignableTopic(
                n.topic, [alter_partition_reassignments.ReassignablePartition(0, [1])]
            )
        ]
    ),
    CLUSTER,
)
row(
    46,
    lambda n: list_partition_reassignments.ListPartitionReassignmentsRequest(
        topics=[list_partition_reassignments.ListPartitionReassignmentsTopics(n.topic, [0])]
    ),
    CLUSTER,
)
row(48, lambda n: describe_client_quotas.DescribeClientQuotasRequest(), CLUSTER)
row(
    49,
    lambda n: alter_client_quotas.AlterClientQuotasRequest(
        [
            alter_client_quotas.RequestEntryData(
                [alter_client_quotas.RequestEntityData("user", n.user)],
                [alter_client_quotas.OpData("producer_byte_rate", 1.0)],
            )
        ]
    ),
    CLUSTER,
)
row(
    55,
    lambda n: describe_quorum.DescribeQuorumRequest(
        [
            describe_quorum.RequestTopicData(
                "__cluster_metadata", [describe_quorum.RequestPartitionData(0)]
            )
        ]
    ),
    CLUSTER,
)
row(
    57,
    lambda n: update_features.UpdateFeaturesRequest(
        feature_updates=[update_features.FeatureUpdateKey("group.version", 0, True, 2)]
    ),
    CLUSTER,
)
row(60, lambda n: describe_cluster.DescribeClusterRequest(True))
row(64, lambda n: unregister_broker.UnregisterBrokerRequest(2), CLUSTER)
row(74, lambda n: list_config_resources.ListConfigResourcesRequest(), CLUSTER)

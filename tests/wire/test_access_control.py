"""Rules over real sockets: what they let through, and how they end what is under way.

The client is ANONYMOUS, like everybody on a plain listener; rules are made on the broker's thread.
"""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from headrace.codecs.kafka.generated import (
    consumer_group_describe,
    consumer_group_heartbeat,
    create_topics,
    delete_topics,
    describe_topic_partitions,
    list_groups,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
)
from headrace.config.broker_access import STANDARD_AUTHORIZER
from headrace.security.acl import (
    ANONYMOUS,
    CLUSTER_NAME,
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from headrace.testing.broker import Broker
from tests.wire.calls import (
    FETCH,
    PRODUCE,
    batch,
    by_partition,
    fetch,
    fetch_request,
    produce,
    produce_request,
)
from tests.wire.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS = {"authorizer.class.name": STANDARD_AUTHORIZER}
TOPIC_REFUSED, GROUP_REFUSED = 29, 30
METADATA, OFFSET_COMMIT, OFFSET_FETCH, LIST_GROUPS = 3, 8, 9, 16
CREATE_TOPICS, DELETE_TOPICS, OFFSET_DELETE, DESCRIBE_TOPIC_PARTITIONS = 19, 20, 47, 75
CONSUMER_GROUP_HEARTBEAT, CONSUMER_GROUP_DESCRIBE = 68, 69
SECONDS_MAX = 5.0
ROUNDS_MAX = 10_000


class Guarded:
    """A broker with an authorizer, a connection to it, and short words for rules."""

    def __init__(self, broker: Broker, client: RawClient) -> None:
        self.broker = broker
        self.client = client

    def allow(
        self,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
        *,
        permission: Permission = Permission.ALLOW,
        pattern: PatternType = PatternType.LITERAL,
    ) -> None:
        rule = AclBinding(resource_type, name, pattern, ANONYMOUS, "*", operation, permission)
        self.broker.call(lambda server: server.broker.access.create([rule]))  # type: ignore[union-attr]

    def allow_topic(self, topic: str, *operations: Operation) -> str:
        for operation in operations:
            self.allow(operation, ResourceType.TOPIC, topic)
        return topic

    def revoke_all(self) -> None:
        self.broker.call(lambda server: server.broker.access.delete([AclBindingFilter()]))  # type: ignore[union-attr]

    def topic(self, *operations: Operation) -> str:
        name = self.broker.create_topic(f"t-{uuid4().hex[:8]}")
        return self.allow_topic(name, *operations)

    def topic_id(self, name: str) -> bytes:
        return self.broker.call(lambda server: server.broker.topics.get(name).id)  # type: ignore[union-attr]

    def exists(self, name: str) -> bool:
        return self.broker.call(lambda server: name in server.broker.topics)

    def await_parked_fetch(self) -> None:
        for _ in range(ROUNDS_MAX):
            if self.broker.call(lambda server: server.broker.fetching.waiting.parked):
                return
        pytest.fail("the fetch was not parked")


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker(SETTINGS) as broker:
        yield broker


@pytest.fixture
def guarded(shared: Broker) -> Iterator[Guarded]:
    with RawClient(shared.port) as client:
        guarded = Guarded(shared, client)
        yield guarded
        guarded.revoke_all()


def produced(guarded: Guarded, topic: str) -> int:
    return produce(guarded.client, topic, {0: batch(b"v")})[0].error_code


# --- records ------------------------------------------------------------------------------------


def test_right_to_write_is_not_the_right_to_read(guarded: Guarded) -> None:
    topic = guarded.topic(Operation.WRITE)
    assert produced(guarded, topic) == 0
    assert fetch(guarded.client, topic, {0: 0})[0].error_code == TOPIC_REFUSED


def test_denial_beats_permission(guarded: Guarded) -> None:
    topic = guarded.topic(Operation.ALL)
    assert produced(guarded, topic) == 0
    guarded.allow(
        Operation.WRITE,
        ResourceType.TOPIC,
        "t-",
        permission=Permission.DENY,
        pattern=PatternType.PREFIXED,
    )
    assert produced(guarded, topic) == TOPIC_REFUSED
    assert fetch(guarded.client, topic, {0: 0})[0].error_code == 0


def test_several_topics_are_refused_one_by_one(guarded: Guarded) -> None:
    mine, other = guarded.topic(Operation.READ), guarded.topic()
    request = fetch_request(mine, {0: 0})
    request.topics = [*request.topics, *fetch_request(other, {0: 0}).topics]
    answer = guarded.client.call(FETCH, 12, request)
    assert {t.topic: t.partitions[0].error_code for t in answer.responses} == {
        mine: 0,
        other: TOPIC_REFUSED,
    }


def test_refused_produce_without_acknowledgement_ends_the_connection(guarded: Guarded) -> None:
    topic = guarded.topic(Operation.READ)
    with RawClient(guarded.broker.port) as client:
        client.send(PRODUCE, 9, produce_request(topic, {0: batch(b"v")}, acks=0))
        assert client.is_closed_by_peer()


def test_parked_fetch_gives_nothing_after_its_right_is_revoked(guarded: Guarded) -> None:
    topic = guarded.topic(Operation.READ)
    guarded.client.send(FETCH, 12, fetch_request(topic, {0: 0}, max_wait_ms=60_000))
    guarded.await_parked_fetch()
    guarded.revoke_all()
    guarded.allow_topic(topic, Operation.WRITE)
    with RawClient(guarded.broker.port) as writer:
        assert produce(writer, topic, {0: batch(b"later")})[0].error_code == 0
    readable, _, _ = select.select([guarded.client.socket], [], [], SECONDS_MAX)
    assert readable
    _, answer = guarded.client.receive(FETCH, 12)
    partition = by_partition(answer)[0]
    assert (partition.error_code, bytes(partition.records or b"")) == (TOPIC_REFUSED, b"")


@pytest.mark.parametrize("version", [12, 16])
def test_fetch_session_notices_a_revocation_and_its_end(guarded: Guarded, version: int) -> None:
    topic = guarded.topic(Operation.READ, Operation.WRITE)
    begun = fetch_request(topic, {0: 0}, session_epoch=0)
    begun.topics[0].topic_id = guarded.topic_id(topic)
    answer = guarded.client.call(FETCH, version, begun)
    session_id = answer.session_id
    assert session_id
    assert by_partition(answer)[0].error_code == 0

    def go_on(epoch: int) -> dict[int, Any]:
        request = fetch_request(topic, {}, session_id=session_id, session_epoch=epoch)
        return by_partition(guarded.client.call(FETCH, version, request))

    guarded.revoke_all()
    assert go_on(1)[0].error_code == TOPIC_REFUSED
    guarded.allow_topic(topic, Operation.READ, Operation.WRITE)
    assert produced(guarded, topic) == 0
    again = go_on(2)[0]
    assert again.error_code == 0
    assert len(again.records) > 0


# --- topics -------------------------------------------------------------------------------------


def asked(guarded: Guarded, *topics: Any, version: int = 12) -> dict[Any, Any]:
    request = metadata.MetadataRequest(
        list(topics) or None, include_topic_authorized_operations=True
    )
    answer = guarded.client.call(METADATA, version, request)
    return {topic.name: topic for topic in answer.topics}


def test_metadata_of_all_topics_are_those_of_visible_ones(guarded: Guarded) -> None:
    mine, _ = guarded.topic(Operation.READ), guarded.topic()
    (found,) = asked(guarded).values()
    assert found.name == mine
    assert found.topic_authorized_operations == 1 << Operation.READ | 1 << Operation.DESCRIBE


def test_id_does_not_tell_the_name_to_those_who_may_not_describe_the_topic(
    guarded: Guarded,
) -> None:
    topic = guarded.topic()
    wanted = metadata.MetadataRequestTopic(guarded.topic_id(topic), None)
    assert asked(guarded, wanted)[None].error_code == TOPIC_REFUSED
    guarded.allow_topic(topic, Operation.DESCRIBE)
    assert asked(guarded, wanted)[topic].error_code == 0


@pytest.mark.parametrize("by_cluster", [True, False])
def test_topic_is_created_on_first_use_only_by_those_who_may(
    guarded: Guarded, by_cluster: bool
) -> None:
    name = f"new-{uuid4().hex[:8]}"
    wanted = metadata.MetadataRequestTopic(name=name)
    guarded.allow_topic(name, Operation.DESCRIBE)
    assert asked(guarded, wanted)[name].error_code == TOPIC_REFUSED
    assert not guarded.exists(name)
    if by_cluster:
        guarded.allow(Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME)
    else:
        guarded.allow_topic(name, Operation.CREATE)
    assert asked(guarded, wanted)[name].error_code == 0
    assert guarded.exists(name)


def test_creator_without_a_right_to_look_does_not_see_settings(guarded: Guarded) -> None:
    name = f"new-{uuid4().hex[:8]}"
    guarded.allow_topic(name, Operation.CREATE)
    request = create_topics.CreateTopicsRequest([create_topics.CreatableTopic(name, 1, 1)])
    (result,) = guarded.client.call(CREATE_TOPICS, 7, request).topics
    assert (result.error_code, result.topic_config_error_code) == (0, TOPIC_REFUSED)
    assert (result.num_partitions, list(result.configs or ())) == (-1, [])
    assert guarded.exists(name)


def test_name_of_a_topic_is_told_by_its_id_only_to_those_who_may_describe_it(
    guarded: Guarded,
) -> None:
    topic = guarded.topic()
    request = delete_topics.DeleteTopicsRequest(
        topics=[delete_topics.DeleteTopicState(None, guarded.topic_id(topic))]
    )
    (result,) = guarded.client.call(DELETE_TOPICS, 6, request).responses
    assert (result.error_code, result.name) == (TOPIC_REFUSED, None)
    guarded.allow_topic(topic, Operation.DESCRIBE)
    (result,) = guarded.client.call(DELETE_TOPICS, 6, request).responses
    assert (result.error_code, result.name) == (TOPIC_REFUSED, topic)
    guarded.allow_topic(topic, Operation.DELETE)
    (result,) = guarded.client.call(DELETE_TOPICS, 6, request).responses
    assert (result.error_code, result.name) == (0, topic)


def test_partitions_of_all_topics_are_those_of_visible_ones(guarded: Guarded) -> None:
    mine, other = guarded.topic(Operation.DESCRIBE), guarded.topic()
    request = describe_topic_partitions.DescribeTopicPartitionsRequest()
    answer = guarded.client.call(DESCRIBE_TOPIC_PARTITIONS, 0, request)
    assert [topic.name for topic in answer.topics] == [mine]
    request.topics = [describe_topic_partitions.TopicRequest(name) for name in (mine, other)]
    answer = guarded.client.call(DESCRIBE_TOPIC_PARTITIONS, 0, request)
    assert {topic.name: topic.error_code for topic in answer.topics} == {
        mine: 0,
        other: TOPIC_REFUSED,
    }


# --- groups -------------------------------------------------------------------------------------


def committed(guarded: Guarded, group: str, *topics: str) -> dict[str, int]:
    request = offset_commit.OffsetCommitRequest(
        group,
        topics=[
            offset_commit.OffsetCommitRequestTopic(
                topic, partitions=[offset_commit.OffsetCommitRequestPartition(0, 5)]
            )
            for topic in topics
        ],
    )
    answer = guarded.client.call(OFFSET_COMMIT, 9, request)
    return {topic.name: topic.partitions[0].error_code for topic in answer.topics}


def test_offsets_are_committed_by_those_who_may_read_group_and_topic(guarded: Guarded) -> None:
    mine, other = guarded.topic(Operation.READ), guarded.topic()
    assert committed(guarded, "g", mine) == {mine: GROUP_REFUSED}
    guarded.allow(Operation.READ, ResourceType.GROUP, "g")
    assert committed(guarded, "g", mine, other) == {mine: 0, other: TOPIC_REFUSED}


@pytest.mark.parametrize("version", [1, 5, 8])
def test_offsets_of_hidden_topics_are_refused_or_left_out(guarded: Guarded, version: int) -> None:
    mine, other = guarded.topic(Operation.READ), guarded.topic(Operation.READ)
    guarded.allow(Operation.READ, ResourceType.GROUP, "g")
    assert committed(guarded, "g", mine, other) == {mine: 0, other: 0}
    guarded.revoke_all()
    guarded.allow(Operation.READ, ResourceType.GROUP, "g")
    guarded.allow_topic(mine, Operation.READ)

    def fetched(*names: str) -> dict[str, tuple[int, int]]:
        old = [offset_fetch.OffsetFetchRequestTopic(name, [0]) for name in names] or None
        new = [
            offset_fetch.OffsetFetchRequestTopics(name, partition_indexes=[0]) for name in names
        ] or None
        groups = [offset_fetch.OffsetFetchRequestGroup("g", topics=new)]
        request = offset_fetch.OffsetFetchRequest("g", old, groups)
        answer = guarded.client.call(OFFSET_FETCH, version, request)
        topics = answer.groups[0].topics if version >= 8 else answer.topics
        return {
            topic.name: (topic.partitions[0].error_code, topic.partitions[0].committed_offset)
            for topic in topics
        }

    assert fetched(mine, other) == {mine: (0, 5), other: (TOPIC_REFUSED, -1)}
    if version > 1:
        assert other not in fetched()
        assert fetched()[mine] == (0, 5)


def test_offsets_of_hidden_topics_are_not_deleted(guarded: Guarded) -> None:
    mine, other = guarded.topic(Operation.READ), guarded.topic(Operation.READ)
    guarded.allow(Operation.ALL, ResourceType.GROUP, "h")
    committed(guarded, "h", mine, other)
    guarded.revoke_all()
    guarded.allow(Operation.DELETE, ResourceType.GROUP, "h")
    guarded.allow_topic(mine, Operation.READ)
    request = offset_delete.OffsetDeleteRequest(
        "h",
        [
            offset_delete.OffsetDeleteRequestTopic(
                name, [offset_delete.OffsetDeleteRequestPartition(0)]
            )
            for name in (mine, other)
        ],
    )
    answer = guarded.client.call(OFFSET_DELETE, 0, request)
    assert {topic.name: topic.partitions[0].error_code for topic in answer.topics} == {
        mine: 0,
        other: TOPIC_REFUSED,
    }


def test_groups_are_listed_to_those_who_may_describe_them(guarded: Guarded) -> None:
    topic = guarded.topic(Operation.READ)
    for group in ("list-a", "list-b"):
        guarded.allow(Operation.READ, ResourceType.GROUP, group)
        assert committed(guarded, group, topic) == {topic: 0}

    def listed() -> set[str]:
        answer = guarded.client.call(LIST_GROUPS, 4, list_groups.ListGroupsRequest())
        return {each.group_id for each in answer.groups}

    guarded.revoke_all()
    assert listed() == set()
    guarded.allow(Operation.DESCRIBE, ResourceType.GROUP, "list-b")
    assert listed() == {"list-b"}
    guarded.allow(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
    assert listed() >= {"list-a", "list-b"}


def test_pattern_of_a_consumer_matches_only_visible_topics(guarded: Guarded) -> None:
    mine, other = guarded.topic(Operation.READ), guarded.topic()
    guarded.allow(Operation.READ, ResourceType.GROUP, "patterns")
    request = consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
        "patterns",
        "member-made-by-a-client",
        rebalance_timeout_ms=10_000,
        subscribed_topic_regex=f"{mine}|{other}",
        topic_partitions=[],
    )
    answer = guarded.client.call(CONSUMER_GROUP_HEARTBEAT, 1, request)
    assert (answer.error_code, answer.error_message) == (0, None)
    assigned = {topic.topic_id for topic in answer.assignment.topic_partitions}
    assert assigned == {guarded.topic_id(mine)}


def test_consumer_group_is_not_described_to_those_who_may_not_see_its_topics(
    guarded: Guarded,
) -> None:
    topic = guarded.topic(Operation.READ)
    guarded.allow(Operation.READ, ResourceType.GROUP, "described")
    join = consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
        "described",
        "member-made-by-a-client",
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=[topic],
        topic_partitions=[],
    )
    assert guarded.client.call(CONSUMER_GROUP_HEARTBEAT, 1, join).error_code == 0
    request = consumer_group_describe.ConsumerGroupDescribeRequest(["described"])
    (seen,) = guarded.client.call(CONSUMER_GROUP_DESCRIBE, 1, request).groups
    assert (seen.error_code, len(seen.members)) == (0, 1)
    guarded.revoke_all()
    guarded.allow(Operation.READ, ResourceType.GROUP, "described")
    (hidden,) = guarded.client.call(CONSUMER_GROUP_DESCRIBE, 1, request).groups
    assert (hidden.error_code, len(hidden.members)) == (TOPIC_REFUSED, 0)
    beat = guarded.client.call(CONSUMER_GROUP_HEARTBEAT, 1, join)
    assert beat.error_code == TOPIC_REFUSED

"""OffsetCommit, OffsetFetch and OffsetDelete as clients of all versions see them."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.codecs.kafka.generated.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from headrace.codecs.kafka.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from headrace.frontends.kafka.handlers import (
    api_08_offset_commit,
    api_09_offset_fetch,
    api_47_offset_delete,
)
from headrace.testing.group_door import GroupDoor

UNKNOWN_PARTITION, ILLEGAL_GENERATION, GROUP_NOT_FOUND, UNKNOWN_TOPIC_ID = 3, 22, 69, 100
UNHEARD_ID = bytes([9] * 16)


@pytest.fixture
def door() -> GroupDoor:
    door = GroupDoor()
    door.bench.create("t", 2)
    return door


def topic_id(door: GroupDoor) -> bytes:
    topic = door.bench.topics.get("t")
    assert topic is not None
    return topic.id


def commit_request(door: GroupDoor, version: int, **changes: object) -> OffsetCommitRequest:
    """Partitions 0 and 5 of ``t``, of which there is only the first, and of a topic unheard of."""
    by_id = version >= 10
    partitions = [OffsetCommitRequestPartition(i, 40 + i, 3, "note") for i in (0, 5)]
    topics = [
        OffsetCommitRequestTopic("" if by_id else "t", topic_id(door), partitions),
        OffsetCommitRequestTopic("" if by_id else "unheard", UNHEARD_ID, partitions[:1]),
    ]
    return OffsetCommitRequest(group_id="g", topics=topics, **changes)


@pytest.mark.parametrize("version", range(2, 11))
def test_each_partition_has_its_own_answer(door: GroupDoor, version: int) -> None:
    response = door.call(api_08_offset_commit, commit_request(door, version), version)
    codes = [[p.error_code for p in topic.partitions] for topic in response.topics]
    unheard = UNKNOWN_TOPIC_ID if version >= 10 else UNKNOWN_PARTITION
    assert codes == [[0, UNKNOWN_PARTITION], [unheard]]


@pytest.mark.parametrize("version", range(2, 11))
def test_refusal_of_the_member_is_told_for_each_partition(door: GroupDoor, version: int) -> None:
    request = commit_request(door, version, generation_id_or_member_epoch=5, member_id="m")
    response = door.call(api_08_offset_commit, request, version)
    expected = GROUP_NOT_FOUND if version >= 9 else ILLEGAL_GENERATION
    assert response.topics[0].partitions[0].error_code == expected


def test_request_without_a_known_partition_asks_nobody(door: GroupDoor) -> None:
    topics = [OffsetCommitRequestTopic("unheard", partitions=[OffsetCommitRequestPartition(0, 1)])]
    response = door.call(api_08_offset_commit, OffsetCommitRequest("g", topics=topics), 9)
    assert response.topics[0].partitions[0].error_code == UNKNOWN_PARTITION


def commit(door: GroupDoor) -> None:
    response = door.call(api_08_offset_commit, commit_request(door, 9), 9)
    assert response.topics[0].partitions[0].error_code == 0


@pytest.mark.parametrize("version", range(1, 8))
def test_offsets_of_one_group_are_fetched(door: GroupDoor, version: int) -> None:
    commit(door)
    topics = [OffsetFetchRequestTopic("t", [0, 1])]
    response = door.call(api_09_offset_fetch, OffsetFetchRequest("g", topics), version)
    first, second = response.topics[0].partitions
    assert (first.committed_offset, first.metadata, first.error_code) == (40, "note", 0)
    assert (second.committed_offset, second.metadata, second.error_code) == (-1, "", 0)
    if version >= 5:
        assert (first.committed_leader_epoch, second.committed_leader_epoch) == (3, -1)
    if version >= 2:
        everything = door.call(api_09_offset_fetch, OffsetFetchRequest("g", None), version)
        assert [p.partition_index for p in everything.topics[0].partitions] == [0]


@pytest.mark.parametrize("version", range(8, 11))
def test_offsets_of_several_groups_are_fetched(door: GroupDoor, version: int) -> None:
    commit(door)
    by_id = version >= 10
    wanted = [OffsetFetchRequestTopics("" if by_id else "t", topic_id(door), [0, 1])]
    groups = [
        OffsetFetchRequestGroup("g", topics=wanted),
        OffsetFetchRequestGroup("other", topics=wanted),
        OffsetFetchRequestGroup("g", topics=None),
    ]
    response = door.call(api_09_offset_fetch, OffsetFetchRequest(groups=groups), version)
    told = [
        (group.group_id, [p.committed_offset for t in group.topics for p in t.partitions])
        for group in response.groups
    ]
    assert told == [("g", [40, -1]), ("other", [-1, -1]), ("g", [40])]
    if by_id:
        assert response.groups[2].topics[0].topic_id == topic_id(door)


def test_unknown_topic_id_is_told_for_its_partitions(door: GroupDoor) -> None:
    wanted = [OffsetFetchRequestTopics(topic_id=UNHEARD_ID, partition_indexes=[0])]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=wanted)])
    (group,) = door.call(api_09_offset_fetch, request, 10).groups
    (topic,) = group.topics
    assert topic.topic_id == UNHEARD_ID
    assert [(p.committed_offset, p.error_code) for p in topic.partitions] == [
        (-1, UNKNOWN_TOPIC_ID)
    ]


@pytest.mark.parametrize("version", [1, 2, 7, 8, 9])
def test_refusal_is_told_where_the_version_has_room(door: GroupDoor, version: int) -> None:
    long_id = "x" * 32_768
    if version >= 8:
        group = OffsetFetchRequestGroup(long_id, topics=[OffsetFetchRequestTopics("t", b"", [0])])
        request = OffsetFetchRequest(groups=[group])
        response = door.call(api_09_offset_fetch, request, version)
        assert response.groups[0].error_code == 24
        return
    door.groups.close()
    request = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0])])
    response = door.call(api_09_offset_fetch, request, version)
    code = response.topics[0].partitions[0].error_code if version == 1 else response.error_code
    assert code == 16


def test_offsets_are_deleted(door: GroupDoor) -> None:
    commit(door)
    partitions = [OffsetDeleteRequestPartition(0), OffsetDeleteRequestPartition(7)]
    topics = [OffsetDeleteRequestTopic("t", partitions)]
    response = door.call(api_47_offset_delete, OffsetDeleteRequest("g", topics), 0)
    assert [p.error_code for p in response.topics[0].partitions] == [0, UNKNOWN_PARTITION]
    missing = door.call(api_47_offset_delete, OffsetDeleteRequest("unheard", topics), 0)
    assert missing.error_code == GROUP_NOT_FOUND

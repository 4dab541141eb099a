"""The topics that the broker itself lives on, and clients that lay hands on them."""

from __future__ import annotations

import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from headrace.codecs.kafka.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from headrace.codecs.kafka.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from headrace.codecs.kafka.generated.delete_topics import DeleteTopicsRequest, DeleteTopicState
from headrace.codecs.kafka.generated.find_coordinator import FindCoordinatorRequest
from headrace.codecs.kafka.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.frontends.kafka.handlers.api_00_produce import ADMIN_CLIENT_ID
from headrace.model.topic import CONSUMER_OFFSETS_TOPIC, INTERNAL_TOPICS, TRANSACTION_STATE_TOPIC
from headrace.records.build import build_batch
from headrace.records.header import stamp_crc
from headrace.testing import Broker
from tests.wire.calls import NOW_MS, PRODUCE, batch, produce, produce_request
from tests.wire.raw_client import RawClient
from tests.wire.transactional_producer import Producer, committed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OFFSET_COMMIT, FIND_COORDINATOR, DELETE_TOPICS, DELETE_RECORDS, CREATE_PARTITIONS = (
    8,
    10,
    20,
    21,
    37,
)
UNKNOWN_TOPIC, INVALID_TOPIC, POLICY_VIOLATION = 3, 17, 44
SCHEMAS = "_schemas"
INTERNAL = pytest.mark.parametrize("name", sorted(INTERNAL_TOPICS))


@pytest.fixture
def client(headrace_broker: Broker) -> Iterator[RawClient]:
    """Of a broker on which both topics have been made."""
    with RawClient(headrace_broker.port) as client:
        for key_type in (0, 1):
            request = FindCoordinatorRequest("x", key_type)
            assert client.call(FIND_COORDINATOR, 1, request).error_code == 0
        yield client


def ends(broker: Broker, name: str) -> list[int]:
    return broker.call(
        lambda server: [each.log.log_end_offset for each in server.broker.topics.partitions(name)]
    )


def senseless() -> bytes:
    """A batch that storage takes: its checksum is right, and so is its header."""
    data = build_batch([(b"key", b"value")], timestamp_ms=NOW_MS)
    data[-1] = 0x7E  # so many headers, of which there is none
    stamp_crc(data, 0, len(data))
    return bytes(data)


@INTERNAL
@pytest.mark.parametrize("version", [3, 9, 12])
def test_client_cannot_write_to_them(
    client: RawClient, headrace_broker: Broker, name: str, version: int
) -> None:
    before = ends(headrace_broker, name)
    assert produce(client, name, {0: batch(b"x")}, version=version)[0].error_code == INVALID_TOPIC
    answers = produce(client, name, {0: batch(b"x"), 1: batch(b"x")}, version=version)
    assert {answer.error_code for answer in answers.values()} == {INVALID_TOPIC}
    assert ends(headrace_broker, name) == before


@INTERNAL
def test_client_cannot_write_to_them_by_id(
    client: RawClient, headrace_broker: Broker, name: str
) -> None:
    request = produce_request(name, {0: batch(b"x")})
    topic_id = headrace_broker.call(lambda server: server.broker.topics.get(name).id)
    request.topic_data[0].topic_id = topic_id
    answer = client.call(PRODUCE, 13, request)
    assert answer.responses[0].partition_responses[0].error_code == INVALID_TOPIC


def test_other_topics_of_the_request_are_written(
    client: RawClient, headrace_broker: Broker, headrace_topic: str
) -> None:
    request = produce_request(headrace_topic, {0: batch(b"x")})
    request.topic_data += produce_request(CONSUMER_OFFSETS_TOPIC, {0: batch(b"x")}).topic_data
    answer = client.call(PRODUCE, 9, request)
    codes = [topic.partition_responses[0].error_code for topic in answer.responses]
    assert codes == [0, INVALID_TOPIC]


def test_silent_client_is_cut_off(client: RawClient) -> None:
    client.send(PRODUCE, 9, produce_request(CONSUMER_OFFSETS_TOPIC, {0: batch(b"x")}, acks=0))
    assert client.is_closed_by_peer()


def test_topic_that_is_not_there_yet_is_unknown() -> None:
    with Broker() as broker, RawClient(broker.port) as client:
        answer = produce(client, TRANSACTION_STATE_TOPIC, {0: batch(b"x")})
        assert answer[0].error_code == UNKNOWN_TOPIC


@INTERNAL
def test_their_records_cannot_be_deleted(client: RawClient, name: str) -> None:
    whole = DeleteRecordsTopic(name, [DeleteRecordsPartition(0, -1)])
    answer = client.call(DELETE_RECORDS, 2, DeleteRecordsRequest([whole], 1000))
    assert answer.topics[0].partitions[0].error_code == INVALID_TOPIC


@INTERNAL
def test_they_do_not_grow(client: RawClient, headrace_broker: Broker, name: str) -> None:
    count = len(ends(headrace_broker, name))
    request = CreatePartitionsRequest([CreatePartitionsTopic(name, count + 1, None)], 1000)
    assert client.call(CREATE_PARTITIONS, 3, request).results[0].error_code == POLICY_VIOLATION
    assert len(ends(headrace_broker, name)) == count


def commit_offset(client: RawClient, topic: str) -> int:
    partitions = [OffsetCommitRequestPartition(0, 7)]
    request = OffsetCommitRequest(
        "g", topics=[OffsetCommitRequestTopic(topic, partitions=partitions)]
    )
    code: int = client.call(OFFSET_COMMIT, 8, request).topics[0].partitions[0].error_code
    return code


@INTERNAL
def test_deleted_ones_are_made_again(name: str) -> None:
    with Broker() as broker, RawClient(broker.port) as client:
        topic = broker.create_topic("t")
        assert commit_offset(client, topic) == 0
        with Producer(broker.port, "x").client:
            request = DeleteTopicsRequest(topics=[DeleteTopicState(name)], timeout_ms=1000)
            assert client.call(DELETE_TOPICS, 6, request).responses[0].error_code == 0
        assert commit_offset(client, topic) == 0
        producer = Producer(broker.port, "x")
        with producer.client:
            assert producer.send(topic, {0: b"a"}, 12) == {0}
            assert producer.end(is_commit=True) == 0
        assert committed(client, topic) == ([b"a"], [])


def test_what_the_administrator_writes_cannot_keep_the_broker_from_starting(
    tmp_path: Path,
) -> None:
    """Kafka's way to mend these topics by hand; not everybody's hand is steady."""
    with Broker(directory=str(tmp_path)) as broker, RawClient(broker.port) as client:
        topic = broker.create_topic("t")
        assert commit_offset(client, topic) == 0
        Producer(broker.port, "x").client.socket.close()
        with RawClient(broker.port, ADMIN_CLIENT_ID) as administrator:
            for name in INTERNAL_TOPICS:
                count = len(ends(broker, name))
                for data in (senseless(), batch(b"no state of a coordinator")):
                    answers = produce(administrator, name, dict.fromkeys(range(count), data))
                    assert {answer.error_code for answer in answers.values()} == {0}
    with Broker(directory=str(tmp_path)) as broker, RawClient(broker.port) as client:
        assert commit_offset(client, topic) == 0
        producer = Producer(broker.port, "x")
        with producer.client:
            assert producer.send(topic, {0: b"a"}, 12) == {0}
            assert producer.end(is_commit=True) == 0
        assert committed(client, topic) == ([b"a"], [])


def registered(broker: Broker, subject: str) -> Any:
    request = urllib.request.Request(
        f"{broker.http_url}/subjects/{subject}/versions",
        b'{"schema": "\\"int\\""}',
        {"Content-Type": "application/vnd.schemaregistry.v1+json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read()


def test_what_others_write_does_not_harm_the_schema_registry(tmp_path: Path) -> None:
    """The topic is an ordinary one, as with Confluent: records of a copy may be put into it."""
    odd = build_batch(
        [(b'{"keytype":"CONFIG","subject":["s"]}', b'{"compatibilityLevel":"NONE"}')],
        timestamp_ms=NOW_MS,
    )
    with Broker(directory=str(tmp_path), http=True) as broker, RawClient(broker.port) as client:
        first = registered(broker, "s")
        for data in (senseless(), batch(b"no schema"), bytes(odd)):
            assert produce(client, SCHEMAS, {0: data})[0].error_code == 0
        assert registered(broker, "s") == first
    with Broker(directory=str(tmp_path), http=True) as broker:
        assert registered(broker, "s") == first
        assert registered(broker, "other") == first

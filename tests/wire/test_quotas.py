"""Quotas over real sockets: the answer comes at once, the next one only after the wait.

Times are measured against the broker's own words (``throttle_time_ms``), never against a guess.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from headrace.codecs.kafka.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from headrace.codecs.kafka.generated.api_versions import ApiVersionsRequest
from headrace.codecs.kafka.generated.create_topics import CreatableTopic, CreateTopicsRequest
from headrace.codecs.kafka.generated.describe_client_quotas import DescribeClientQuotasRequest
from headrace.testing import Broker
from tests.wire.calls import FETCH, PRODUCE, batch, by_partition, fetch_request, produce_request
from tests.wire.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

API_VERSIONS, CREATE_TOPICS, DESCRIBE_QUOTAS, ALTER_QUOTAS = 18, 19, 48, 49
PROBE = ApiVersionsRequest("test", "1")
ONE_SECOND_WINDOWS = {"quota.window.num": "2", "quota.window.size.seconds": "1"}
"""The rate is that of the last second or two, so that a test need not wait longer."""


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(ONE_SECOND_WINDOWS) as broker:
        yield broker


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    with RawClient(broker.port) as client:
        yield client


def limit(client: RawClient, entity: dict[str, str | None], **quotas: float) -> None:
    parts = [RequestEntityData(kind, name) for kind, name in entity.items()]
    ops = [OpData(name, value, remove=False) for name, value in quotas.items()]
    request = AlterClientQuotasRequest([RequestEntryData(parts, ops)])
    (result,) = client.call(ALTER_QUOTAS, 1, request).entries
    assert (result.error_code, result.error_message) == (0, None)


def probe(client: RawClient) -> None:
    client.call(API_VERSIONS, 3, PROBE)


def test_producer_is_answered_at_once_though_it_must_wait_long(
    broker: Broker, client: RawClient
) -> None:
    topic = broker.create_topic("t")
    limit(client, {"client-id": "raw"}, producer_byte_rate=1)
    answer = client.call(PRODUCE, 9, produce_request(topic, {0: batch(b"x" * 100_000)}))
    assert answer.throttle_time_ms > 60_000
    assert answer.responses[0].partition_responses[0].error_code == 0


def test_producer_is_muted_for_as_long_as_it_was_told(broker: Broker, client: RawClient) -> None:
    topic = broker.create_topic("t")
    limit(client, {"client-id": "raw"}, producer_byte_rate=1_000)
    started = time.monotonic()
    answer = client.call(PRODUCE, 9, produce_request(topic, {0: batch(b"x" * 1_300)}))
    assert 200 < answer.throttle_time_ms < 1_000
    probe(client)
    assert time.monotonic() - started >= answer.throttle_time_ms / 1000


def test_a_client_without_quota_does_not_notice(broker: Broker, client: RawClient) -> None:
    topic = broker.create_topic("t")
    with RawClient(broker.port) as other:
        limit(other, {"client-id": "somebody else"}, producer_byte_rate=1, request_percentage=1)
        for _ in range(5):
            answer = client.call(PRODUCE, 9, produce_request(topic, {0: batch(b"x" * 50_000)}))
            assert answer.throttle_time_ms == 0


def test_without_acknowledgement_the_producer_is_muted_too(
    broker: Broker, client: RawClient
) -> None:
    topic = broker.create_topic("t")
    limit(client, {"user": "ANONYMOUS"}, producer_byte_rate=1_000)
    started = time.monotonic()
    client.send(PRODUCE, 9, produce_request(topic, {0: batch(b"x" * 1_400)}, acks=0))
    probe(client)
    assert time.monotonic() - started > 0.2


def test_fetch_over_the_quota_is_empty_and_its_records_come_later(
    broker: Broker, client: RawClient
) -> None:
    topic = broker.create_topic("t")
    records = {0: batch(b"x" * 800)}
    client.call(PRODUCE, 9, produce_request(topic, records))
    limit(client, {"client-id": "raw"}, consumer_byte_rate=1_000)
    first = client.call(FETCH, 12, fetch_request(topic, {0: 0}, session_epoch=-1))
    assert (first.throttle_time_ms, len(by_partition(first)[0].records)) == (0, len(records[0]))
    second = client.call(FETCH, 12, fetch_request(topic, {0: 0}, session_epoch=-1))
    assert second.throttle_time_ms > 0
    assert by_partition(second) == {}
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        again = client.call(FETCH, 12, fetch_request(topic, {0: 0}, session_epoch=-1))
        if by_partition(again):
            break
    assert len(by_partition(again)[0].records) == len(records[0])


def test_throttled_session_goes_on_but_a_new_one_is_not_begun() -> None:
    with (
        Broker() as broker,
        RawClient(broker.port) as client,
        RawClient(broker.port) as second,
    ):
        topic = broker.create_topic("t")
        client.call(PRODUCE, 9, produce_request(topic, {0: batch(b"x" * 800)}))
        limit(client, {"client-id": "raw"}, consumer_byte_rate=100)
        begun = client.call(FETCH, 12, fetch_request(topic, {0: 0}, session_epoch=0))
        assert (begun.throttle_time_ms, begun.session_id != 0) == (0, True)
        more = fetch_request(topic, {}, session_id=begun.session_id, session_epoch=1)
        withheld = client.call(FETCH, 12, more)
        assert withheld.throttle_time_ms > 0
        assert (withheld.session_id, by_partition(withheld)) == (begun.session_id, {})
        refused = second.call(FETCH, 12, fetch_request(topic, {0: 0}, session_epoch=0))
        assert refused.throttle_time_ms > 0
        assert (refused.session_id, by_partition(refused)) == (0, {})
        assert broker.call(lambda server: server._count_fetch_sessions()) == 1


def test_request_time_throttles_every_kind_of_request(client: RawClient) -> None:
    limit(client, {"client-id": "raw"}, request_percentage=0.000_001)
    started = time.monotonic()
    answer = client.call(API_VERSIONS, 3, PROBE)
    assert 0 < answer.throttle_time_ms <= 1_000
    probe(client)
    assert time.monotonic() - started >= answer.throttle_time_ms / 1000


def test_creation_over_the_quota_is_refused(broker: Broker, client: RawClient) -> None:
    limit(client, {"client-id": "raw"}, controller_mutation_rate=1)
    for name, code in (("first", 0), ("second", 89)):
        request = CreateTopicsRequest([CreatableTopic(name, 21, 1)])
        answer = client.call(CREATE_TOPICS, 7, request)
        assert answer.topics[0].error_code == code
    assert 0 < answer.throttle_time_ms <= 10_000


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_quota_of_zero_is_refused_and_changes_nothing(client: RawClient, value: float) -> None:
    entity = [RequestEntityData("user", "alice")]
    ops = [OpData("producer_byte_rate", value, remove=False)]
    request = AlterClientQuotasRequest([RequestEntryData(entity, ops)])
    (result,) = client.call(ALTER_QUOTAS, 1, request).entries
    assert result.error_code == 42
    assert described(client) == []


def described(client: RawClient) -> list[tuple[dict[str, Any], dict[str, float]]]:
    answer = client.call(DESCRIBE_QUOTAS, 1, DescribeClientQuotasRequest())
    return [
        (
            {part.entity_type: part.entity_name for part in entry.entity},
            {value.key: value.value for value in entry.values},
        )
        for entry in answer.entries
    ]


def test_quotas_survive_a_restart(tmp_path: Path) -> None:
    with Broker(directory=str(tmp_path)) as broker, RawClient(broker.port) as client:
        limit(client, {"user": None}, producer_byte_rate=1_000_000)
    with Broker(directory=str(tmp_path)) as broker, RawClient(broker.port) as client:
        assert described(client) == [({"user": None}, {"producer_byte_rate": 1_000_000.0})]

"""DescribeProducers: what the log knows of its producers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.codecs.kafka.generated.describe_producers import (
    DescribeProducersRequest,
    TopicRequest,
)
from headrace.frontends.kafka.handlers import api_61_describe_producers
from headrace.records.build import build_batch
from headrace.security.acl import Operation, ResourceType
from headrace.storage.control_batch import build_end_marker
from headrace.storage.log_port import Origin
from headrace.testing.metadata_bench import MetadataBench

from .administrator import Administrator

if TYPE_CHECKING:
    from headrace.storage.log_port import Log

UNKNOWN_PARTITION, INVALID_TOPIC, TOPIC_REFUSED = 3, 17, 29


@pytest.fixture
def bench() -> MetadataBench:
    bench = MetadataBench()
    bench.create("t", 2)
    return bench


def log_of(bench: MetadataBench) -> Log:
    partition = bench.topics.partition("t", 0)
    assert partition is not None
    return partition.log


def ask(administrator: Administrator, name: str, *indexes: int) -> list[Any]:
    request = DescribeProducersRequest([TopicRequest(name, list(indexes))])
    (topic,) = administrator.ask(api_61_describe_producers.handle, 0, request).topics
    assert topic.name == name
    assert [each.partition_index for each in topic.partitions] == list(indexes)
    return list(topic.partitions)


def write(bench: MetadataBench, producer_id: int, *, transactional: bool) -> None:
    batch = build_batch(
        [(b"k", b"1"), (b"k", b"2")],
        timestamp_ms=bench.clock.now_ms(),
        producer_id=producer_id,
        producer_epoch=3,
        base_sequence=0,
        transactional=transactional,
    )
    bench.logs.append([(log_of(bench), batch)])


def fields(producer: Any) -> tuple[int, ...]:
    return (
        producer.producer_id,
        producer.producer_epoch,
        producer.last_sequence,
        producer.last_timestamp,
        producer.coordinator_epoch,
        producer.current_txn_start_offset,
    )


def test_all_producers_are_described(bench: MetadataBench) -> None:
    now_ms = bench.clock.now_ms()
    for producer_id, transactional in ((7, False), (8, True), (9, True)):
        write(bench, producer_id, transactional=transactional)
    marker = build_end_marker(9, 4, is_commit=True, coordinator_epoch=6, timestamp_ms=now_ms)
    bench.logs.append([(log_of(bench), marker)], origin=Origin.COORDINATOR)
    written, empty = ask(Administrator(bench), "t", 0, 1)
    assert (written.error_code, empty.error_code, empty.active_producers) == (0, 0, [])
    assert [fields(each) for each in written.active_producers] == [
        (7, 3, 1, now_ms, -1, -1),
        (8, 3, 1, now_ms, -1, 2),
        (9, 4, -1, now_ms, 6, -1),
    ]


def test_what_is_not_there_is_told(bench: MetadataBench) -> None:
    administrator = Administrator(bench)
    assert [each.error_code for each in ask(administrator, "t", 0, 2)] == [0, UNKNOWN_PARTITION]
    assert [each.error_code for each in ask(administrator, "unheard", 0)] == [UNKNOWN_PARTITION]
    assert [each.error_code for each in ask(administrator, "..", 0)] == [INVALID_TOPIC]


@pytest.mark.parametrize("name", ["t", "unheard"])
def test_whoever_may_not_read_learns_nothing(bench: MetadataBench, name: str) -> None:
    administrator = Administrator(bench, is_allowed=False)
    (answer,) = ask(administrator, name, 0)
    assert (answer.error_code, answer.active_producers) == (TOPIC_REFUSED, ())
    assert administrator.asked == [(Operation.READ, ResourceType.TOPIC, name)]

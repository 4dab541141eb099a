"""Offsets in transactions in the files: we read Kafka's, and Kafka's own tool reads ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.codecs.kafka.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.wire.raw_client import RawClient

from .kafka_tools import RealKafka, dump_log_segments, tools_missing
from .successors import broker_under_test, successor_of, topic_logs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .successors import FileBroker

pytestmark = [pytest.mark.interop, pytest.mark.maven]

TOPIC, GROUP = "t", "g"
TIMEOUT_S = 30.0
OFFSET_FETCH, UNSTABLE = 9, 88
Offsets = dict[int, int]


@pytest.fixture(autouse=True)
def _needs_maven() -> None:
    missing = tools_missing()
    if missing is not None:
        pytest.skip(missing)


def _transactional(servers: str, transactional_id: str) -> Producer:
    producer = Producer({"bootstrap.servers": servers, "transactional.id": transactional_id})
    producer.init_transactions(TIMEOUT_S)
    return producer


def _send(producer: Producer, servers: str, offsets: Offsets) -> None:
    """Begin a transaction with a record and these offsets."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": GROUP})
    producer.begin_transaction()
    producer.produce(TOPIC, b"value", partition=0)
    producer.send_offsets_to_transaction(
        [TopicPartition(TOPIC, index, offset) for index, offset in offsets.items()],
        consumer.consumer_group_metadata(),
        TIMEOUT_S,
    )
    consumer.close()


def _fill(servers: str) -> Producer:
    """Committed, overtaken, aborted and open transactions. The producer of the open one."""
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(TOPIC, 3, 1)])[TOPIC].result(TIMEOUT_S)
    ends: list[tuple[Offsets, Callable[[Producer], None]]] = [
        ({0: 5, 1: 6}, lambda producer: producer.commit_transaction(TIMEOUT_S)),
        ({0: 8}, lambda producer: producer.commit_transaction(TIMEOUT_S)),
        ({0: 9, 1: 9}, lambda producer: producer.abort_transaction(TIMEOUT_S)),
    ]
    producer = _transactional(servers, "ends")
    for offsets, end in ends:
        _send(producer, servers, offsets)
        end(producer)
    hanging = _transactional(servers, "stays-open")
    _send(hanging, servers, {1: 7, 2: 7})
    return hanging


def _fetch(servers: str) -> list[tuple[int, int]]:
    """(code, offset) of each partition, stable or not at all."""
    wanted = OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0, 1, 2])
    groups = [OffsetFetchRequestGroup(GROUP, topics=[wanted])]
    with RawClient(int(servers.rpartition(":")[2])) as client:
        request = OffsetFetchRequest(groups=groups, require_stable=True)
        (answer,) = client.call(OFFSET_FETCH, 9, request).groups
    return [(each.error_code, each.committed_offset) for each in answer.topics[0].partitions]


def _run(broker: FileBroker, work: Callable[[str], None]) -> None:
    broker.start()
    try:
        work(broker.bootstrap_servers)
    finally:
        broker.stop()


def test_transactions_of_kafka_go_on(tmp_path: Path) -> None:
    kafka = RealKafka(tmp_path / "kafka")
    kafka.format()
    expected = [(0, 8), (UNSTABLE, -1), (UNSTABLE, -1)]

    def work(servers: str) -> None:
        hanging = _fill(servers)
        assert _fetch(servers) == expected
        del hanging

    def go_on(servers: str) -> None:
        assert _fetch(servers) == expected
        _transactional(servers, "stays-open")  # which aborts what its predecessor left
        assert _fetch(servers) == [(0, 8), (0, 6), (0, -1)]

    _run(kafka, work)
    _run(successor_of(kafka, tmp_path / "successor"), go_on)


def test_dump_reads_our_transactions(tmp_path: Path) -> None:
    broker = broker_under_test(tmp_path)

    def work(servers: str) -> None:
        hanging = _fill(servers)
        assert _fetch(servers)[0] == (0, 8)
        del hanging

    _run(broker, work)
    files = topic_logs(broker.data_directory, ".log", internal=True)
    offsets = [path for path in files if path.parent.name.startswith("__consumer_offsets")]
    dump = dump_log_segments(offsets, "--deep-iteration", "--print-data-log", "--offsets-decoder")
    assert dump.faults == []
    assert "isTransactional: true" in dump.text
    assert dump.text.count("endTxnMarker: COMMIT") == 2
    assert dump.text.count("endTxnMarker: ABORT") == 1

"""A transactional producer byte for byte, and what readers of committed records are shown."""

from __future__ import annotations

from time import time
from typing import Any

from headrace.codecs.kafka.generated.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from headrace.codecs.kafka.generated.end_txn import EndTxnRequest
from headrace.codecs.kafka.generated.init_producer_id import InitProducerIdRequest
from headrace.codecs.kafka.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from headrace.records.decode import decode_records
from headrace.records.header import batches
from tests.wire.calls import PRODUCE, batch, fetch, produce_request
from tests.wire.raw_client import RawClient

LIST_OFFSETS, INIT_PRODUCER_ID, ADD_PARTITIONS, END_TXN = 2, 22, 24, 26
COMMITTED = 1
LATEST = -1
TIMEOUT_MS = 60_000


class Producer:
    """One transactional producer on a connection of its own."""

    def __init__(self, port: int, transactional_id: str, timeout_ms: int = TIMEOUT_MS) -> None:
        self.client = RawClient(port)
        self.transactional_id = transactional_id
        request = InitProducerIdRequest(transactional_id, timeout_ms)
        answer = self.client.call(INIT_PRODUCER_ID, 5, request)
        assert answer.error_code == 0
        self.identity = (answer.producer_id, answer.producer_epoch)

    def add(self, topic: str, *partitions: int) -> int:
        topics = [AddPartitionsToTxnTopic(topic, partitions)]
        request = AddPartitionsToTxnRequest(
            self.transactional_id, *self.identity, v3_and_below_topics=topics
        )
        answer = self.client.call(ADD_PARTITIONS, 3, request)
        code: int = (
            answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
        )
        return code

    def send(
        self, topic: str, values: dict[int, bytes], version: int, sequence: int = 0
    ) -> set[int]:
        """The error codes of all partitions."""
        fields: dict[str, Any] = {"base_sequence": sequence, "transactional": True}
        # Not far from that of the marker, or the log would begin a new segment with it.
        fields["timestamp_ms"] = int(time() * 1000)
        fields["producer_id"], fields["producer_epoch"] = self.identity
        records = {index: batch(value, **fields) for index, value in values.items()}
        request = produce_request(topic, records)
        request.transactional_id = self.transactional_id
        answer = self.client.call(PRODUCE, version, request)
        return {p.error_code for t in answer.responses for p in t.partition_responses}

    def end(self, *, is_commit: bool, version: int = 5) -> int:
        request = EndTxnRequest(self.transactional_id, *self.identity, is_commit)
        answer = self.client.call(END_TXN, version, request)
        if version >= 5 and not answer.error_code:
            self.identity = (answer.producer_id, answer.producer_epoch)
        code: int = answer.error_code
        return code


def committed(client: RawClient, topic: str, partition: int = 0, **options: Any) -> Any:
    """(values, aborted transactions) as a reader of committed records gets them."""
    answer = fetch(client, topic, {partition: 0}, isolation_level=COMMITTED, **options)[partition]
    assert answer.error_code == 0
    data = bytes(answer.records or b"")
    values = [
        record.value
        for start, header in batches(data)
        if not header.is_control
        for record in decode_records(data[start : start + header.size_bytes])
    ]
    aborted = [(each.producer_id, each.first_offset) for each in answer.aborted_transactions or ()]
    return values, aborted


def latest(client: RawClient, topic: str, isolation: int) -> int:
    return offset_at(client, topic, LATEST, isolation)


def offset_at(client: RawClient, topic: str, timestamp: int, isolation: int) -> int:
    topics = [ListOffsetsTopic(topic, [ListOffsetsPartition(0, timestamp=timestamp)])]
    request = ListOffsetsRequest(isolation_level=isolation, topics=topics)
    offset: int = client.call(LIST_OFFSETS, 7, request).topics[0].partitions[0].offset
    return offset

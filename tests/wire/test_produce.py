"""Produce: what is refused, with which code, and that a broken partition fails alone."""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING

import pytest

from headrace.codecs.kafka.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from headrace.records.compression import Compression
from headrace.records.decode import decode_records
from headrace.records.header import batches
from tests.wire.calls import PRODUCE, batch, fetch, produce, produce_request

if TYPE_CHECKING:
    from tests.wire.raw_client import RawClient

CORRUPT, UNKNOWN_TOPIC, TOO_LARGE, INVALID_ACKS = 2, 3, 10, 21
NOT_YOUR_TRANSACTION = 53
INVALID_TIMESTAMP, OUT_OF_ORDER, INVALID_EPOCH, INVALID_RECORD, UNKNOWN_ID = 32, 45, 47, 87, 100


def values_of(client: RawClient, topic: str, partition: int = 0) -> list[bytes | None]:
    records = fetch(client, topic, {partition: 0})[partition].records
    data = bytes(records or b"")
    return [
        record.value
        for position, header in batches(data)
        for record in decode_records(data[position : position + header.size_bytes])
    ]


def test_records_come_back_byte_for_byte_with_their_offsets(client, headrace_topic):
    sent = batch(b"a", b"b", b"c")
    assert produce(client, headrace_topic, {0: sent})[0].base_offset == 0
    assert produce(client, headrace_topic, {0: batch(b"d")})[0].base_offset == 3
    stored = bytes(fetch(client, headrace_topic, {0: 0})[0].records)
    assert stored[16 : len(sent)] == sent[16:], "everything the checksum covers is untouched"
    assert values_of(client, headrace_topic) == [b"a", b"b", b"c", b"d"]


def test_one_broken_partition_fails_alone(client, headrace_broker):
    topic = headrace_broker.create_topic("broken-alone", 3)
    good = batch(b"good")
    bad = bytearray(good)
    bad[-1] ^= 1
    answers = produce(client, topic, {0: good, 1: bytes(bad), 2: good, 7: good})
    codes = {index: answer.error_code for index, answer in answers.items()}
    assert codes == {0: 0, 1: CORRUPT, 2: 0, 7: UNKNOWN_TOPIC}
    assert values_of(client, topic, 0) == [b"good"]
    assert values_of(client, topic, 1) == []


def test_unknown_topic_and_unknown_id_are_named(client):
    assert produce(client, "no-such-topic", {0: batch(b"x")})[0].error_code == UNKNOWN_TOPIC
    request = ProduceRequest(
        acks=-1,
        topic_data=[
            TopicProduceData(
                topic_id=b"\x07" * 16,
                partition_data=[PartitionProduceData(index=0, records=batch(b"x"))],
            )
        ],
    )
    answer = client.call(PRODUCE, 13, request)
    assert answer.responses[0].partition_responses[0].error_code == UNKNOWN_ID


def two_batches() -> bytes:
    return batch(b"x") + batch(b"y")


def with_field(offset: int, layout: str, value: int) -> bytes:
    """A batch with one header field changed and the checksum made right again."""
    from crc32c import crc32c

    changed = bytearray(batch(b"x", b"y"))
    struct.pack_into(layout, changed, offset, value)
    struct.pack_into(">I", changed, 17, crc32c(bytes(changed[21:])))
    return bytes(changed)


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (b"", INVALID_RECORD),
        (two_batches(), INVALID_RECORD),
        (batch(b"x")[:30], CORRUPT),
        (with_field(16, ">b", 1), INVALID_RECORD),  # magic 1
        (with_field(23, ">i", 5), INVALID_RECORD),  # last offset delta against two records
        (with_field(57, ">i", 0), INVALID_RECORD),  # no records
        (with_field(21, ">h", 32), INVALID_RECORD),  # a control batch
        (batch(b"x", base_offset=5), INVALID_RECORD),
        (batch(b"x" * 2_000_000), TOO_LARGE),
    ],
)
def test_batch_that_breaks_a_rule_is_refused_by_name(client, headrace_topic, records, code):
    answer = produce(client, headrace_topic, {0: records})[0]
    assert answer.error_code == code
    assert values_of(client, headrace_topic) == []
    assert produce(client, headrace_topic, {0: batch(b"after")})[0].error_code == 0


def test_timestamp_far_in_the_future_is_refused(client, headrace_topic):
    tomorrow = int(time.time() * 1000) + 86_400_000
    answer = produce(client, headrace_topic, {0: batch(b"x", timestamp_ms=tomorrow)})[0]
    assert answer.error_code == INVALID_TIMESTAMP


def test_log_append_time_is_stamped_and_reported(client, headrace_broker):
    topic = headrace_broker.create_topic(
        "append-time", 1, {"message.timestamp.type": "LogAppendTime"}
    )
    answer = produce(client, topic, {0: batch(b"x")})[0]
    assert abs(answer.log_append_time_ms - time.time() * 1000) < 60_000
    data = bytes(fetch(client, topic, {0: 0})[0].records)
    ((_, header),) = list(batches(data))
    assert header.is_log_append_time
    assert header.max_timestamp == answer.log_append_time_ms


def test_null_key_on_a_compacted_topic_names_the_record(client, headrace_broker):
    topic = headrace_broker.create_topic("compacted", 1, {"cleanup.policy": "compact"})
    from headrace.records.build import build_batch

    records = bytes(build_batch([(b"k", b"1"), (None, b"2")], timestamp_ms=1_700_000_000_000))
    answer = produce(client, topic, {0: records})[0]
    assert answer.error_code == INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [1]


def test_unknown_acks_are_refused_for_each_partition(client, headrace_topic):
    assert produce(client, headrace_topic, {0: batch(b"x")}, acks=2)[0].error_code == INVALID_ACKS


def test_acks_zero_gets_no_answer_and_is_stored(client, headrace_topic):
    client.send(PRODUCE, 9, produce_request(headrace_topic, {0: batch(b"quiet")}, acks=0))
    assert values_of(client, headrace_topic) == [b"quiet"]


def test_acks_zero_that_fails_closes_the_connection(client):
    client.send(PRODUCE, 9, produce_request("no-such-topic", {0: batch(b"x")}, acks=0))
    assert client.is_closed_by_peer()


def idempotent(value: bytes, sequence: int, epoch: int = 0, producer_id: int = 4242) -> bytes:
    return batch(value, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def test_duplicate_is_answered_with_the_original_offset(client, headrace_topic):
    for sequence in range(5):
        produce(client, headrace_topic, {0: idempotent(b"%d" % sequence, sequence)})
    for sequence in range(5):
        again = produce(client, headrace_topic, {0: idempotent(b"%d" % sequence, sequence)})[0]
        assert (again.error_code, again.base_offset) == (0, sequence)
    assert values_of(client, headrace_topic) == [b"0", b"1", b"2", b"3", b"4"]


def test_gap_in_the_sequence_and_old_epoch_are_refused(client, headrace_topic):
    assert produce(client, headrace_topic, {0: idempotent(b"0", 0, epoch=1)})[0].error_code == 0
    gap = produce(client, headrace_topic, {0: idempotent(b"2", 2, epoch=1)})[0]
    assert gap.error_code == OUT_OF_ORDER
    stale = produce(client, headrace_topic, {0: idempotent(b"1", 1, epoch=0)})[0]
    assert stale.error_code == INVALID_EPOCH
    assert produce(client, headrace_topic, {0: idempotent(b"new", 0, epoch=2)})[0].error_code == 0


def test_transactional_batch_without_a_transactional_id_is_refused(client, headrace_topic):
    records = batch(b"x", producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    assert produce(client, headrace_topic, {0: records})[0].error_code == NOT_YOUR_TRANSACTION
    assert values_of(client, headrace_topic) == []


def test_zstd_needs_version_seven(client, headrace_topic):
    records = batch(b"x", compression=Compression.ZSTD)
    assert produce(client, headrace_topic, {0: records}, version=6)[0].error_code == 76
    assert produce(client, headrace_topic, {0: records}, version=7)[0].error_code == 0
    assert fetch(client, headrace_topic, {0: 0}, version=9)[0].error_code == 76
    assert fetch(client, headrace_topic, {0: 0}, version=10)[0].error_code == 0


def test_fsync_topic_acknowledges_and_serves(client, headrace_broker):
    topic = headrace_broker.create_topic("synced", 2, {"durability": "fsync"})
    answers = produce(client, topic, {0: batch(b"a"), 1: batch(b"b")})
    assert {a.error_code for a in answers.values()} == {0}
    assert values_of(client, topic, 0) == [b"a"]
    assert values_of(client, topic, 1) == [b"b"]

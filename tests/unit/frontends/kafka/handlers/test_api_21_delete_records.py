"""DeleteRecords: each partition has its own answer."""

from __future__ import annotations

from headrace.codecs.kafka.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from headrace.frontends.kafka.handlers.api_21_delete_records import handle
from headrace.records.build import build_batch
from headrace.testing.metadata_bench import MetadataBench


def test_partitions_are_answered_one_by_one() -> None:
    bench = MetadataBench()
    bench.create("orders", 2)
    partition = bench.topics.partition("orders", 0)
    assert partition is not None
    batch = build_batch([(b"k", b"v")] * 10, timestamp_ms=bench.clock.now_ms())
    bench.logs.append([(partition.log, batch)])
    wanted = [
        DeleteRecordsPartition(0, 4),
        DeleteRecordsPartition(1, 1),
        DeleteRecordsPartition(2, 0),
    ]
    request = DeleteRecordsRequest(
        [
            DeleteRecordsTopic("orders", wanted),
            DeleteRecordsTopic("unknown", [DeleteRecordsPartition(0, -1)]),
        ]
    )
    answer = handle(request, bench.context(2))
    told = [
        (topic.name, part.partition_index, part.low_watermark, part.error_code)
        for topic in answer.topics
        for part in topic.partitions
    ]
    assert told == [
        ("orders", 0, 4, 0),
        ("orders", 1, -1, 1),
        ("orders", 2, -1, 3),
        ("unknown", 0, -1, 3),
    ]

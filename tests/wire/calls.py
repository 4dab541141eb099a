"""Short forms of the requests that the wire tests send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.codecs.kafka.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from headrace.records.build import build_batch

if TYPE_CHECKING:
    from tests.wire.raw_client import RawClient

PRODUCE, FETCH = 0, 1
NOW_MS = 1_700_000_000_000


def batch(*values: bytes, **options: Any) -> bytes:
    options.setdefault("timestamp_ms", NOW_MS)
    return bytes(build_batch([(b"key", value) for value in values], **options))


def produce_request(topic: str, batches: dict[int, bytes], acks: int = -1) -> ProduceRequest:
    data = [PartitionProduceData(index=i, records=records) for i, records in batches.items()]
    return ProduceRequest(
        acks=acks, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=data)]
    )


def produce(
    client: RawClient, topic: str, batches: dict[int, bytes], acks: int = -1, version: int = 9
) -> dict[int, Any]:
    """The answer by partition."""
    response = client.call(PRODUCE, version, produce_request(topic, batches, acks))
    return {p.index: p for t in response.responses for p in t.partition_responses}


def fetch_request(topic: str, offsets: dict[int, int], **options: Any) -> FetchRequest:
    partition_max_bytes = options.pop("partition_max_bytes", 1_000_000)
    epoch = options.pop("leader_epoch", -1)
    partitions = [
        FetchPartition(
            partition=i,
            fetch_offset=offset,
            partition_max_bytes=partition_max_bytes,
            current_leader_epoch=epoch,
        )
        for i, offset in offsets.items()
    ]
    options.setdefault("min_bytes", 1)
    options.setdefault("max_wait_ms", 0)
    options.setdefault("max_bytes", 50_000_000)
    topics = [FetchTopic(topic=topic, partitions=partitions)] if partitions else []
    return FetchRequest(topics=topics, **options)


def fetch(
    client: RawClient, topic: str, offsets: dict[int, int], version: int = 12, **options: Any
) -> dict[int, Any]:
    """The answer by partition."""
    response = client.call(FETCH, version, fetch_request(topic, offsets, **options))
    assert response.error_code == 0
    return by_partition(response)


def by_partition(response: Any) -> dict[int, Any]:
    return {p.partition_index: p for t in response.responses for p in t.partitions}

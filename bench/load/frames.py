"""Produce and fetch requests encoded once and sent many times.

A client that encodes every request in Python is slower than the brokers it measures. Each of our
connections has one request under way, so the correlation id can stay the same, and all that ever
changes is a partition number or an offset at a known place.
"""

from __future__ import annotations

import struct
import time
from typing import Any

from headrace.codecs.kafka import messages
from headrace.codecs.kafka.generated.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.codecs.kafka.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from headrace.codecs.kafka.headers import decode_response_header, encode_request_header
from headrace.records.build import build_batch

PRODUCE, FETCH = 0, 1
PRODUCE_VERSION = 10
"""What librdkafka 2.16 sends."""
FETCH_VERSION = 12
"""The last version that names topics."""
CLIENT_ID = "bench"
ACKS_ALL = -1
REQUEST_TIMEOUT_MS = 30_000
FETCH_BYTES_MAX = 16_000_000
TOPIC_NAME_BYTES_MAX = 126
"""Up to here the length of a compact string is one byte."""

_OFFSET_MARK = 0x1122334455667788
_unpack_size = struct.Struct(">i").unpack_from
_unpack_error = struct.Struct(">h").unpack_from
_unpack_offset = struct.Struct(">q").unpack_from
_pack_size = struct.Struct(">i").pack
_pack_offset_into = struct.Struct(">q").pack_into


def batch_of(value: bytes, count: int = 1) -> bytes:
    """One batch of records without keys, made now: retention would soon remove older ones."""
    now_ms = int(time.time() * 1000)
    return bytes(build_batch([(None, value)] * count, timestamp_ms=now_ms))


def request_frame(api_key: int, version: int, request: Any) -> bytes:
    """A whole request, its size in front; the correlation id is 0."""
    body: list[Any] = []
    messages.request_encoder(api_key, version)(request, body)
    data = encode_request_header(api_key, version, 0, CLIENT_ID)
    data += b"".join(bytes(chunk) for chunk in body)
    return _pack_size(len(data)) + data


def decode_answer(api_key: int, version: int, answer: bytes) -> Any:
    """The message in a whole frame."""
    flexible = messages.response_header_is_flexible(api_key, version)
    _, position = decode_response_header(answer, flexible, 4)
    response, _ = messages.response_decoder(api_key, version)(answer, position)
    return response


def whole_frame_bytes(buffer: bytes | bytearray) -> int:
    """The size of the first frame with its prefix; 0 while it has not come completely."""
    if len(buffer) < 4:
        return 0
    size: int = _unpack_size(buffer)[0] + 4
    return size if len(buffer) >= size else 0


class ProduceFrames:
    """Requests that put one batch into one partition of a topic, and their answers."""

    def __init__(self, topic: str, batch: bytes) -> None:
        if len(topic.encode()) > TOPIC_NAME_BYTES_MAX:
            raise ValueError(f"the topic name {topic!r} is too long for a one-byte length")
        self.topic = topic
        self._batch = batch
        self._heads: dict[int, bytes] = {}
        self._tail = b""
        # Size, correlation id, tags, one topic, its name with a length, one partition, its index.
        self._error_position = 4 + 4 + 1 + 1 + 1 + len(topic.encode()) + 1 + 4

    def frame(self, partition: int) -> bytes:
        head = self._heads.get(partition)
        if head is None:
            head = self._remember(partition)
        return head + self._batch + self._tail

    def error_code(self, answer: bytes | bytearray) -> int:
        code: int = _unpack_error(answer, self._error_position)[0]
        return code

    def base_offset(self, answer: bytes | bytearray) -> int:
        offset: int = _unpack_offset(answer, self._error_position + 2)[0]
        return offset

    def _remember(self, partition: int) -> bytes:
        data = PartitionProduceData(index=partition, records=self._batch)
        topics = [TopicProduceData(name=self.topic, partition_data=[data])]
        request = ProduceRequest(acks=ACKS_ALL, timeout_ms=REQUEST_TIMEOUT_MS, topic_data=topics)
        whole = request_frame(PRODUCE, PRODUCE_VERSION, request)
        start = whole.index(self._batch)
        self._tail = whole[start + len(self._batch) :]
        head = self._heads[partition] = whole[:start]
        return head


class FetchFrame:
    """A fetch of one partition, whose offset moves on."""

    def __init__(
        self, topic: str, partition: int, *, max_wait_ms: int, bytes_max: int = FETCH_BYTES_MAX
    ) -> None:
        wanted = FetchPartition(
            partition=partition,
            fetch_offset=_OFFSET_MARK,
            partition_max_bytes=bytes_max,
            current_leader_epoch=-1,
        )
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=bytes_max,
            topics=[FetchTopic(topic=topic, partitions=[wanted])],
        )
        self._frame = bytearray(request_frame(FETCH, FETCH_VERSION, request))
        self._position = self._frame.index(struct.pack(">q", _OFFSET_MARK))

    def at(self, offset: int) -> bytes:
        _pack_offset_into(self._frame, self._position, offset)
        return bytes(self._frame)

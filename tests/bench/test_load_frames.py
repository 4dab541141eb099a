"""Requests encoded once must be what the codecs would have made, for every partition and offset."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.load.frames import (
    FETCH,
    FETCH_VERSION,
    PRODUCE,
    PRODUCE_VERSION,
    FetchFrame,
    ProduceFrames,
    batch_of,
    decode_answer,
    whole_frame_bytes,
)
from headrace.codecs.kafka import messages
from headrace.codecs.kafka.generated.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from headrace.codecs.kafka.headers import decode_request_header, encode_response_frame


def request_in(frame):
    body = frame[4:]
    key, version, _, _, position = decode_request_header(body)
    request, end = messages.request_decoder(key, version)(body, position)
    assert end == len(body)
    return key, version, request


def produce_answer(topic, error_code, base_offset):
    partition = PartitionProduceResponse(index=7, error_code=error_code, base_offset=base_offset)
    response = ProduceResponse([TopicProduceResponse(topic, bytes(16), [partition])])
    chunks = []
    messages.response_encoder(PRODUCE, PRODUCE_VERSION)(response, chunks)
    body = b"".join(bytes(chunk) for chunk in chunks)
    return encode_response_frame(0, True, len(body)) + body


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5), st.integers(1, 5))
def test_produce_frames_differ_in_the_partition_alone(partitions, count):
    batch = batch_of(b"value", count)
    frames = ProduceFrames("topic", batch)
    for partition in partitions:
        frame = frames.frame(partition)
        assert whole_frame_bytes(frame) == len(frame)
        key, version, request = request_in(frame)
        (topic,) = request.topic_data
        (data,) = topic.partition_data
        assert (key, version, request.acks, topic.name) == (PRODUCE, PRODUCE_VERSION, -1, "topic")
        assert (data.index, bytes(data.records)) == (partition, batch)


@given(
    st.text("abcdef-", min_size=1, max_size=126),
    st.sampled_from([0, 3, 6, 87]),
    st.integers(-1, 2**62),
)
def test_error_and_offset_are_read_where_the_encoder_writes_them(topic, error_code, base_offset):
    frames = ProduceFrames(topic, b"batch")
    answer = produce_answer(topic, error_code, base_offset)
    assert frames.error_code(answer) == error_code
    assert frames.base_offset(answer) == base_offset
    decoded = decode_answer(PRODUCE, PRODUCE_VERSION, answer)
    assert decoded.responses[0].partition_responses[0].error_code == error_code


def test_a_topic_name_with_a_longer_length_is_refused():
    with pytest.raises(ValueError, match="too long"):
        ProduceFrames("x" * 127, b"")


@given(st.integers(0, 2**62), st.integers(0, 2**62))
def test_a_fetch_asks_for_the_offset_it_is_given(first, second):
    frame = FetchFrame("topic", 3, max_wait_ms=500, bytes_max=1_000)
    for offset in (first, second):
        key, version, request = request_in(frame.at(offset))
        (wanted,) = request.topics[0].partitions
        assert (key, version) == (FETCH, FETCH_VERSION)
        assert (wanted.partition, wanted.fetch_offset) == (3, offset)
        assert (request.max_wait_ms, request.max_bytes) == (500, 1_000)


@given(st.binary(max_size=20), st.binary(max_size=10))
def test_a_frame_is_whole_when_its_last_byte_is_there(body, rest):
    frame = len(body).to_bytes(4, "big") + body
    assert all(whole_frame_bytes(frame[:end]) == 0 for end in range(len(frame)))
    assert whole_frame_bytes(frame + rest) == len(frame)

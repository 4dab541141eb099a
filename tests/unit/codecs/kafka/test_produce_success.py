"""The short way to the answer gives the bytes of the long one."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from headrace.codecs.kafka.messages import VALID_VERSIONS, response_encoder
from headrace.codecs.kafka.produce_success import (
    VERSION_MIN,
    encode_produce_success,
    with_throttle_time,
)

PRODUCE = 0


@pytest.mark.parametrize("version", range(VERSION_MIN, VALID_VERSIONS[PRODUCE][1] + 1))
@pytest.mark.parametrize("topic", ["t", "x" * 126, "x" * 127, "x" * 249])
@pytest.mark.parametrize(
    ("index", "base_offset", "append_time_ms", "start_offset"),
    [(0, 0, -1, 0), (2**31 - 1, 2**63 - 1, 2**62, 7)],
)
def test_bytes_equal_those_of_the_generated_encoder(
    version, topic, index, base_offset, append_time_ms, start_offset
):
    topic_id = bytes(range(16))
    partition = PartitionProduceResponse(index, 0, base_offset, append_time_ms, start_offset)
    chunks: list[bytes] = []
    response_encoder(PRODUCE, version)(
        ProduceResponse([TopicProduceResponse(topic, topic_id, [partition])]), chunks
    )
    assert encode_produce_success(
        version, topic, topic_id, index, base_offset, append_time_ms, start_offset
    ) == b"".join(chunks)


@pytest.mark.parametrize("version", range(VERSION_MIN, VALID_VERSIONS[PRODUCE][1] + 1))
def test_time_to_wait_can_be_added(version):
    partition = PartitionProduceResponse(3, 0, 7, -1, 0)
    chunks: list[bytes] = []
    response_encoder(PRODUCE, version)(
        ProduceResponse([TopicProduceResponse("t", bytes(16), [partition])], 1_234), chunks
    )
    answer = encode_produce_success(version, "t", bytes(16), 3, 7, -1, 0)
    assert with_throttle_time(answer, 1_234) == b"".join(chunks)

"""The answer that nearly every Produce request gets, written directly.

One partition, no error, a flexible version: three objects and a general encoder would cost more
than all checks of the batch. The tests compare it with the generated encoder, version by version.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct

from headrace.codecs.kafka.wire import encode_uvarint

VERSION_MIN = 9
"""Flexible from here on; versions 10 to 12 only added tagged fields, which success leaves out."""
TOPIC_IDS_FROM = 13
TOPICS_REMEMBERED_MAX = 10_000

# One partition (2 is a compact array of one); no error; no record errors (1), no message (0); no
# tags of the partition and of the topic; no throttling; no tags of the answer.
_pack_rest = Struct(">BihqqqBBBBiB").pack
_TAIL = Struct(">iB")


def encode_produce_success(
    version: int,
    topic: str,
    topic_id: bytes,
    index: int,
    base_offset: int,
    log_append_time_ms: int,
    log_start_offset: int,
) -> bytes:
    """The body of the answer."""
    head = _head_of_name(topic) if version < TOPIC_IDS_FROM else b"\x02" + topic_id
    return head + _pack_rest(
        2, index, 0, base_offset, log_append_time_ms, log_start_offset, 1, 0, 0, 0, 0, 0
    )


def with_throttle_time(answer: bytes, throttle_time_ms: int) -> bytes:
    """The same answer for a client that has to wait: the time stands before the last tags."""
    return answer[: -_TAIL.size] + _TAIL.pack(throttle_time_ms, 0)


@lru_cache(TOPICS_REMEMBERED_MAX)
def _head_of_name(topic: str) -> bytes:
    raw = topic.encode()
    return b"\x02" + encode_uvarint(len(raw) + 1) + raw

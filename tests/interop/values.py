"""The values that scenarios and client drivers exchange, and their JSON form.

Bytes travel as base64, so keys, values and headers reach the client library byte for byte.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
TopicPartition = tuple[str, int]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def encode_bytes(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def decode_bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


@dataclass(frozen=True)
class Record:
    """A record to produce; without a timestamp the client stamps it with its own clock."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None
    partition: int = 0

    def to_json(self) -> Json:
        return {
            "value": encode_bytes(self.value),
            "key": encode_bytes(self.key),
            "headers": [[name, encode_bytes(value)] for name, value in self.headers],
            "timestamp_ms": self.timestamp_ms,
            "partition": self.partition,
        }

    @classmethod
    def from_json(cls, fields: Json) -> Record:
        return cls(
            value=decode_bytes(fields["value"]),
            key=decode_bytes(fields["key"]),
            headers=tuple((name, decode_bytes(value)) for name, value in fields["headers"]),
            timestamp_ms=fields["timestamp_ms"],
            partition=fields["partition"],
        )


@dataclass(frozen=True)
class Received:
    """A record as a consumer saw it."""

    topic: str
    offset: int
    record: Record

    def to_json(self) -> Json:
        return {"topic": self.topic, "offset": self.offset, **self.record.to_json()}

    @classmethod
    def from_json(cls, fields: Json) -> Received:
        return cls(fields["topic"], fields["offset"], Record.from_json(fields))


@dataclass(frozen=True)
class ConsumerSettings:
    """What a consumer is opened with: either `topics` of a group, or partitions in `assign`.

    `start_offset` is where assigned partitions start; without it the reset policy decides.
    """

    group: str | None = None
    topics: tuple[str, ...] = ()
    assign: tuple[TopicPartition, ...] = ()
    protocol: str = "classic"
    assignor: str = "range"
    instance_id: str | None = None
    session_timeout_ms: int = 6_000
    heartbeat_interval_ms: int = 500
    offset_reset: str = "earliest"
    start_offset: int | None = None

    def to_json(self) -> Json:
        fields = dict(vars(self))
        return {**fields, "topics": list(self.topics), "assign": [list(a) for a in self.assign]}

    @classmethod
    def from_json(cls, fields: Json) -> ConsumerSettings:
        partitions = tuple((topic, partition) for topic, partition in fields["assign"])
        return cls(**{**fields, "topics": tuple(fields["topics"]), "assign": partitions})


class ClientFailure(Exception):
    """What a client library reported: `code` is the broker's error number, None if local."""

    def __init__(self, code: int | None, name: str, message: str) -> None:
        super().__init__(f"{name} (code {code}): {message}")
        self.code = code
        self.name = name
        self.message = message


@dataclass
class GroupDescription:
    """The part of a group description that every admin client offers."""

    state: str
    member_count: int
    instance_ids: list[str] = field(default_factory=list)

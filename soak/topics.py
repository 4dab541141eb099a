"""The kinds of topics under load: each keeps another part of the storage busy."""

from __future__ import annotations

from dataclasses import dataclass, field

SMALL_SEGMENT_BYTES = 16_384


@dataclass(frozen=True)
class LoadTopic:
    """A topic, and what its settings do to its records."""

    name: str
    partitions: int
    settings: dict[str, str] = field(default_factory=dict)
    is_compacted: bool = False
    is_trimmed: bool = False
    """Records are deleted on demand."""
    retention_ms: int | None = None
    """Records are deleted by age; then the broker's clock must say how old they are."""

    @property
    def is_kept(self) -> bool:
        return not (self.is_compacted or self.is_trimmed or self.retention_ms is not None)


def segments_of(size_bytes: int) -> dict[str, str]:
    return {"internal.segment.bytes": str(size_bytes), "file.delete.delay.ms": "200"}


def plain(name: str, partitions: int) -> LoadTopic:
    return LoadTopic(name, partitions)


def rolling(name: str, partitions: int) -> LoadTopic:
    """A new segment every few batches."""
    return LoadTopic(name, partitions, segments_of(SMALL_SEGMENT_BYTES))


def ageing(
    name: str, partitions: int, retention_ms: int, segment_bytes: int = SMALL_SEGMENT_BYTES
) -> LoadTopic:
    settings = segments_of(segment_bytes)
    settings |= {"retention.ms": str(retention_ms), "message.timestamp.type": "LogAppendTime"}
    return LoadTopic(name, partitions, settings, retention_ms=retention_ms)


def compacted(
    name: str,
    partitions: int,
    delete_retention_ms: int,
    segment_bytes: int = SMALL_SEGMENT_BYTES,
) -> LoadTopic:
    settings = segments_of(segment_bytes) | {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": str(delete_retention_ms),
    }
    return LoadTopic(name, partitions, settings, is_compacted=True)


def trimmed(name: str, partitions: int) -> LoadTopic:
    return LoadTopic(name, partitions, segments_of(SMALL_SEGMENT_BYTES), is_trimmed=True)

"""What a task reads: a run of offsets of one partition."""

from __future__ import annotations

from typing import NamedTuple

from headrace.model.topic import TopicPartition

PositionMap = dict[str, dict[int, int]]
"""Offsets by topic and partition: the next one to read of each."""


class OffsetRange(NamedTuple):
    """Offsets ``[start, end)``; some of them may hold no record (compaction, transactions)."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def address(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def is_empty(self) -> bool:
        return self.start >= self.end

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}[{self.start}, {self.end})"

"""A broker's answers without a broker: what planning asks for, from plain maps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.model.topic import TopicPartition
from headrace.pipeline.errors import TopicMissing
from headrace.pipeline.source.options import SourceOptions, parse_options
from headrace.pipeline.source.questions import Questions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

BROKER = {"kafka.bootstrap.servers": "localhost:9092"}


class FakeView:
    """``logs`` holds for each partition where its log begins and ends; change it as you like."""

    def __init__(self, logs: Mapping[tuple[str, int], tuple[int, int]]) -> None:
        self.logs = {TopicPartition(*key): span for key, span in logs.items()}
        self.stable: dict[TopicPartition, int] = {}
        self.times: dict[TopicPartition, dict[int, int | None]] = {}
        self.ids: dict[str, bytes] = {}
        self.cluster = "cluster-1"
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True

    def cluster_id(self) -> str:
        return self.cluster

    def topic_ids(self, topics: Sequence[str]) -> dict[str, bytes]:
        for topic in topics:
            self._raise_if_missing(topic)
        return {topic: self.ids.get(topic, bytes(15) + b"\1") for topic in topics}

    def partitions(
        self, topics: Sequence[str] | None = None, pattern: str | None = None
    ) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for partition in sorted(self.logs):
            if pattern is None or re.fullmatch(pattern, partition.topic):
                found.setdefault(partition.topic, []).append(partition.partition)
        if topics is None:
            return found
        for topic in topics:
            self._raise_if_missing(topic)
        return {topic: found[topic] for topic in topics}

    def _raise_if_missing(self, topic: str) -> None:
        if all(partition.topic != topic for partition in self.logs):
            raise TopicMissing(f"there is no topic {topic}")

    def earliest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {partition: self.logs[partition][0] for partition in partitions}

    def latest(
        self, partitions: Iterable[TopicPartition], is_committed: bool
    ) -> dict[TopicPartition, int]:
        ends = {partition: self.logs[partition][1] for partition in partitions}
        return (
            {key: self.stable.get(key, end) for key, end in ends.items()} if is_committed else ends
        )

    def at_time(
        self, times_ms: Mapping[TopicPartition, int], is_committed: bool
    ) -> dict[TopicPartition, int | None]:
        ends = self.latest(times_ms, is_committed)
        found = {key: self.times[key][time_ms] for key, time_ms in times_ms.items()}
        return {key: None if at is None or at >= ends[key] else at for key, at in found.items()}


def options_of(given: Mapping[str, str], *, is_streaming: bool) -> SourceOptions:
    return parse_options({**BROKER, **given}, is_streaming=is_streaming)


def questions_of(view: FakeView, options: SourceOptions) -> Questions:
    return Questions(view, options)  # type: ignore[arg-type]

"""What a query asks the broker while it plans, always of the partitions that its options select."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.model.topic import NO_TOPIC_ID
from headrace.pipeline.errors import TopicMissing
from headrace.pipeline.losses import admit_loss
from headrace.pipeline.source.positions import Positions, flatten, named

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.model.topic import TopicPartition
    from headrace.pipeline.broker_view import BrokerView
    from headrace.pipeline.source.options import SourceOptions


class Questions:
    """One broker, the options of one query."""

    def __init__(self, view: BrokerView, options: SourceOptions) -> None:
        self._view = view
        self._options = options

    def close(self) -> None:
        self._view.close()

    def cluster_id(self) -> str:
        return self._view.cluster_id()

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """What tells a topic from another of the same name, as text; empty if there are no ids."""
        ids = self._view.topic_ids(sorted(topics))
        return {topic: "" if found == NO_TOPIC_ID else found.hex() for topic, found in ids.items()}

    def selected(self) -> list[TopicPartition]:
        """TopicMissing if a topic or partition that the options name is not there."""
        selection = self._options.selection
        if selection.pattern is not None:
            return flatten(self._view.partitions(pattern=selection.pattern))
        names = selection.topics or sorted({partition.topic for partition in selection.assigned})
        found = self._view.partitions(topics=list(names))
        missing = [name for name in names if not found.get(name)]
        if missing:
            raise TopicMissing(f"there is no topic {', '.join(missing)}")
        there = flatten(found)
        gone = set(selection.assigned) - set(there)
        if gone:
            raise TopicMissing(f"option assign: there is no partition {named(gone)}")
        return list(selection.assigned) or there

    def is_selected(self, topic: str) -> bool:
        """Whether the options speak of this topic, be it there or not."""
        selection = self._options.selection
        if selection.pattern is not None:
            return re.fullmatch(selection.pattern, topic) is not None
        return topic in selection.topics or any(
            partition.topic == topic for partition in selection.assigned
        )

    def earliest(self, partitions: Sequence[TopicPartition]) -> Positions:
        return dict(self._view.earliest(partitions)) if partitions else {}

    def latest(self, partitions: Sequence[TopicPartition]) -> Positions:
        """How far a reader of the query's isolation level can see."""
        return self._latest(partitions, self._options.is_committed)

    def latest_uncommitted(self, partitions: Sequence[TopicPartition]) -> Positions:
        return self._latest(partitions, False)

    def at_time(self, timestamps: Positions) -> dict[TopicPartition, int | None]:
        """Of what a reader of the query's isolation level can see."""
        return dict(self._view.at_time(timestamps, self._options.is_committed))

    def admit_loss(
        self, partition: TopicPartition, first_offset: int, next_offset: int, cause: str
    ) -> None:
        """Raises DataLoss, or says it in the log and goes on, as the options want it."""
        is_fatal = self._options.fail_on_data_loss
        admit_loss(partition, first_offset, next_offset, cause, is_fatal=is_fatal)

    def _latest(self, partitions: Sequence[TopicPartition], is_committed: bool) -> Positions:
        if not partitions:
            return {}
        return dict(self._view.latest(partitions, is_committed))

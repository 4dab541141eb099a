"""Where a consumer without a group begins and ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.cli.client import Broker


@dataclass(frozen=True)
class Start:
    """The end of the log, unless one of these is set."""

    is_beginning: bool = False
    offset: int | None = None
    """Negative: so many before the end."""
    time_ms: int | None = None


def assign(
    broker: Broker, consumer: Any, topic: str, partitions: Sequence[int], start: Start
) -> None:
    """Let the consumer read these partitions from there on."""
    from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, TopicPartition

    if start.time_ms is not None:
        wanted = [TopicPartition(topic, index, start.time_ms) for index in partitions]
        with broker.errors(f"topic {topic}"):
            # A partition without records that late answers with its end.
            places = consumer.offsets_for_times(wanted, timeout=broker.timeout_seconds)
    elif start.offset is not None:
        places = [
            TopicPartition(topic, index, _from_offset(broker, consumer, topic, index, start.offset))
            for index in partitions
        ]
    else:
        where = OFFSET_BEGINNING if start.is_beginning else OFFSET_END
        places = [TopicPartition(topic, index, where) for index in partitions]
    consumer.assign(places)


def end_offsets(
    broker: Broker, consumer: Any, topic: str, partitions: Sequence[int]
) -> dict[int, int]:
    """The next offset of each partition, right now."""
    return {index: _watermarks(broker, consumer, topic, index)[1] for index in partitions}


def _from_offset(broker: Broker, consumer: Any, topic: str, index: int, offset: int) -> int:
    if offset >= 0:
        return offset
    first, end = _watermarks(broker, consumer, topic, index)
    return max(first, end + offset)


def _watermarks(broker: Broker, consumer: Any, topic: str, index: int) -> tuple[int, int]:
    from confluent_kafka import TopicPartition

    with broker.errors(f"{topic}-{index}"):
        found: tuple[int, int] | None = consumer.get_watermark_offsets(
            TopicPartition(topic, index), timeout=broker.timeout_seconds
        )
    if found is None:
        raise broker.no_answer()
    return found

"""Delete the records before an offset: the log begins later, and never earlier again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.model.errors import (
    InvalidTopicName,
    OffsetOutOfRange,
    PolicyViolation,
    UnknownTopicOrPartition,
)
from headrace.model.topic import INTERNAL_TOPICS

if TYPE_CHECKING:
    from headrace.broker.topics import Topics

HIGH_WATERMARK = -1
"""As an offset: everything that a consumer could have seen."""


def delete_records_before(topics: Topics, name: str, index: int, offset: int) -> int:
    """The offset at which the partition begins afterwards."""
    if name in INTERNAL_TOPICS:
        raise InvalidTopicName(f"records of the internal topic {name} cannot be deleted")
    partition = topics.partition(name, index)
    if partition is None:
        raise UnknownTopicOrPartition(f"there is no partition {name}-{index}")
    log = partition.log
    if "delete" not in log.config.cleanup_policy:
        raise PolicyViolation(f"{name}: cleanup.policy does not contain delete")
    end = log.high_watermark if offset == HIGH_WATERMARK else offset
    if not 0 <= end <= log.high_watermark:
        raise OffsetOutOfRange(f"{name}-{index}: {offset} is not in 0 to {log.high_watermark}")
    return log.delete_records_before(end)

"""Offsets that cannot be read any more: an error, or with failOnDataLoss=false a warning."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.pipeline.errors import DataLoss

if TYPE_CHECKING:
    from headrace.model.topic import TopicPartition

log = logging.getLogger(__name__)

MADE_ANEW = "the topic was deleted and made anew"
PARTITION_GONE = "the partition is gone"


def admit_loss(
    address: TopicPartition, first_offset: int, next_offset: int, cause: str, *, is_fatal: bool
) -> None:
    """Say that ``[first_offset, next_offset)`` is lost; never silently, whatever was asked for."""
    if is_fatal:
        raise DataLoss(address.topic, address.partition, first_offset, next_offset, cause)
    log.warning(
        "offsets %d to %d of %s are passed over: %s",
        first_offset,
        next_offset - 1,
        address,
        cause,
    )

"""Where reading begins or ends, as the options say it; ``starting.py`` turns it into offsets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.pipeline.source.positions import Positions

# As in Kafka's protocol and in the JSON of Spark's Kafka source.
LATEST = -1
EARLIEST = -2


@dataclass(frozen=True)
class Everywhere:
    """The same end of each partition: ``EARLIEST`` or ``LATEST``."""

    offset: int


@dataclass(frozen=True)
class AtOffsets:
    """An offset for each partition, or one of the two words as a number."""

    offsets: Positions


@dataclass(frozen=True)
class AtTimestamps:
    """For each partition the first record that is at least as new, in milliseconds."""

    timestamps: Positions


@dataclass(frozen=True)
class AtOneTimestamp:
    """In each partition the first record that is at least as new."""

    timestamp_ms: int


Bound = Everywhere | AtOffsets | AtTimestamps | AtOneTimestamp

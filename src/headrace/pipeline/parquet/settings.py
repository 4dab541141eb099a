"""What an engine is told. Plain values only: they come from a file or a command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.model.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class ParquetSettings:
    """One job: topics, a table, and how the values of records are read."""

    job: str
    source: Mapping[str, str] = field(repr=False)
    """Options as ``format("headrace")`` takes them. Unless they say otherwise reading begins at the
    earliest offset, headers are kept, and what a transaction took back is left out."""
    target: str
    table: str = "plain"
    decoding: Mapping[str, str] = field(default_factory=dict, repr=False)
    partition_by: str = "hour"
    trigger_seconds: float = 5.0
    compact: bool = True
    file_bytes_target: int = 256 * MEBIBYTE
    """About this much goes into one file, if there is that much."""
    compact_batches: int = 50
    """So many commits, then a compaction; counted in the table, over all runs."""
    compact_bytes_target: int = 128 * MEBIBYTE
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """For the table, as ``open_table`` takes them."""

    def __post_init__(self) -> None:
        if not self.job:
            raise InvalidConfig("a job needs a name")
        if self.trigger_seconds < 0:
            raise InvalidConfig(f"trigger_seconds: {self.trigger_seconds} is less than 0")
        for name in ("file_bytes_target", "compact_batches", "compact_bytes_target"):
            if getattr(self, name) < 1:
                raise InvalidConfig(f"{name}: {getattr(self, name)} is less than 1")

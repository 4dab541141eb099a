"""What is known of one data file. Travels from the task that wrote it to the driver."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.pipeline.ranges import OffsetRange

if TYPE_CHECKING:
    from collections.abc import Mapping


class DataFile(NamedTuple):
    """One Parquet file, written and closed, that no reader sees before it is committed."""

    path: str
    """Relative to the table."""
    rows: int
    size_bytes: int
    partition_values: dict[str, str]
    ranges: tuple[OffsetRange, ...]
    timestamp_ms_min: int | None = None
    timestamp_ms_max: int | None = None
    statistics: str = ""
    """JSON as Delta's log wants it: ``numRecords``, ``minValues``, ``maxValues``, ``nullCount``."""

    def to_json(self) -> str:
        return json.dumps(self.to_values(), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> DataFile:
        return cls.from_values(json.loads(text))

    def to_values(self) -> dict[str, Any]:
        """Plain values; what is not known is left out."""
        values = {**self._asdict(), "ranges": [list(each) for each in self.ranges]}
        return {name: value for name, value in values.items() if value not in (None, "")}

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> DataFile:
        ranges = tuple(OffsetRange(*each) for each in values["ranges"])
        return cls(**{**values, "ranges": ranges})

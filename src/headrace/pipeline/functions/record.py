"""A record as a function sees it."""

from __future__ import annotations

from typing import NamedTuple

Header = tuple[str, bytes | None]


class Record(NamedTuple):
    """Of one that is returned, only key, value and headers count: the broker gives it its place.

    ``record._replace(value=...)`` makes the next one from this one.
    """

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    topic: str = ""
    partition: int = -1
    offset: int = -1
    timestamp_ms: int = -1

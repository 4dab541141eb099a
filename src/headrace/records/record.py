"""One record as a value, for the paths that have to look into a batch."""

from __future__ import annotations

from typing import NamedTuple


class Header(NamedTuple):
    """A record header: the key is never null, the value may be."""

    key: str
    value: bytes | None


class Record(NamedTuple):
    """A record with its absolute offset and timestamp. A record without a value is a tombstone."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()

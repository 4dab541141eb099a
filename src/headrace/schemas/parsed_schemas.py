"""The schemas that were parsed last. Parsing is the costly part; what is kept is never changed.

Used by one thread at a time: the one whose turn it is to decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.schemas.kinds import parse

if TYPE_CHECKING:
    from headrace.schemas.model import Dependency, Kind, ParsedSchema

    Key = tuple[Kind, str, tuple[Dependency, ...]]

KEPT_LENGTH_MAX = 2_000_000
"""Characters of all schemas that are kept: many small ones, or the last few large ones. A parsed
schema takes some fifty times the memory of its text."""


class ParsedSchemas:
    """Keeps those that were used last, up to a total length."""

    def __init__(self) -> None:
        self._kept: dict[Key, ParsedSchema] = {}
        self._length = 0

    def parse(
        self, kind: Kind, text: str, dependencies: tuple[Dependency, ...] = ()
    ) -> ParsedSchema:
        """As ``kinds.parse``, at once where the result is at hand."""
        key = (kind, text, dependencies)
        found = self._kept.pop(key, None)
        if found is None:
            found = parse(*key)
            self._length += _length_of(key)
        self._kept[key] = found  # the last in the order is the last to go
        while self._length > KEPT_LENGTH_MAX:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._length -= _length_of(oldest)
        return found

    def __len__(self) -> int:
        return len(self._kept)


def _length_of(key: Key) -> int:
    return len(key[1]) + sum(len(dependency.text) for dependency in key[2])

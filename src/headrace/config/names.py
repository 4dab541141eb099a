"""Unknown names: refuse them, and say which known name was probably meant."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from headrace.model.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SIMILARITY_MIN = 0.6
_COMPARED_LENGTH_MAX = 200


def maybe_nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like ``name``, or None if nothing is like it."""
    if len(name) > _COMPARED_LENGTH_MAX:
        return None
    matches = get_close_matches(name.lower().replace("_", "."), known, 1, _SIMILARITY_MIN)
    return matches[0] if matches else None


def raise_if_unknown(name: str, known: Mapping[str, object], what: str) -> None:
    """``what`` says what kind of name it is: "topic option"."""
    if name in known:
        return
    nearest = maybe_nearest(name, known)
    hint = f"; did you mean {nearest}?" if nearest else ""
    raise InvalidConfig(f"unknown {what} {name[:_COMPARED_LENGTH_MAX]!r}{hint}")

"""Texts of dates and moments as Arrow's types; a text that is none is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable


def parse_texts(
    column: pa.Array, kind: pa.DataType, name: str, found: Callable[[int, str], None]
) -> pa.Array:
    """The column as ``kind``; only texts change, everything else is as it should be already."""
    if column.type == kind:
        return column
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        numbered = enumerate(column.to_pylist())
        texts = [_checked(text, kind, index, name, found) for index, text in numbered]
        return pa.array(texts, pa.string()).cast(kind)


def _checked(
    text: str | None, kind: pa.DataType, index: int, name: str, found: Callable[[int, str], None]
) -> str | None:
    try:
        pa.scalar(text, pa.string()).cast(kind)
    except pa.ArrowInvalid:
        found(index, f"field {name}: {text!r:.50} is no {kind}")
        return None
    return text

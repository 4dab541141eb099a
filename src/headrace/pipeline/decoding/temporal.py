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
        return pa.array(
            [_parse(text, kind, index, name, found) for index, text in enumerate(column)], kind
        )


def _parse(
    text: pa.Scalar, kind: pa.DataType, index: int, name: str, found: Callable[[int, str], None]
) -> object:
    try:
        return text.cast(kind).as_py()
    except pa.ArrowInvalid:
        found(index, f"field {name}: {str(text)[:50]!r} is no {kind}")
        return None

"""What JSON objects look like: their fields, and how strictly that is meant."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

ELEMENT = "[]"
"""Stands in a path for the elements of an array."""

Path = tuple[str, ...]


class JsonShape(NamedTuple):
    """Fields as columns."""

    fields: pa.Schema
    required: frozenset[Path] = frozenset()
    """Must be there, and not null."""
    any_texts: frozenset[Path] = frozenset()
    """Texts that take whatever JSON comes, as it is written."""
    is_open: bool = False
    """Fields that are not known are reported, and every text takes any JSON."""

    def takes_all(self, path: Path, kind: pa.DataType) -> bool:
        return pa.types.is_string(kind) and (self.is_open or path in self.any_texts)


def open_shape(fields: pa.Schema) -> JsonShape:
    return JsonShape(fields, is_open=True)

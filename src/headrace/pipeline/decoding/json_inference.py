"""Types of JSON fields from what records hold.

Numbers, booleans, texts and arrays of them get their own types. Objects, arrays of objects and
fields of mixed types become text: their JSON. So nothing is lost, and no later record can
contradict a guess about something nested; a JSON Schema gives nested columns to those who want
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.pipeline.decoding.model import FIELDS_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

INTEGER = pa.int64()
NUMBER = pa.float64()
BOOLEAN = pa.bool_()
TEXT = pa.string()

_TYPES = {
    "BIGINT": INTEGER,
    "UBIGINT": INTEGER,
    "DOUBLE": NUMBER,
    "HUGEINT": NUMBER,
    "UHUGEINT": NUMBER,
    "BOOLEAN": BOOLEAN,
}
"""By DuckDB's names of JSON types; all others are text."""


def merge_types(one: pa.DataType | None, other: pa.DataType | None) -> pa.DataType | None:
    """The narrowest type that takes the values of both; at worst text, which takes all."""
    if one is None or one == other:
        return other
    if other is None:
        return one
    if {one, other} == {INTEGER, NUMBER}:
        return NUMBER
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(merge_types(one.value_type, other.value_type))
    return TEXT


def type_of_words(words: Iterable[str | None]) -> pa.DataType | None:
    """One type for values of these JSON types; None: only nulls, so there is no telling yet."""
    merged: pa.DataType | None = None
    for word in words:
        if word is not None and word != "NULL":
            merged = merge_types(merged, _TYPES.get(word, TEXT))
    return merged


def type_of_lists(words: Iterable[str | None]) -> pa.DataType | None:
    """One type for arrays whose elements are of these JSON types."""
    found = set(words)
    if found & {"OBJECT", "ARRAY"}:
        return TEXT
    element = type_of_words(found)
    return None if element is None else pa.list_(element)


def merge_guesses(known: pa.Schema, found: Sequence[pa.Schema]) -> pa.Schema:
    """Known fields, then new ones of the narrowest type that all who found them can live with; at
    most ``FIELDS_MAX``.
    """
    spellings = {name.casefold() for name in known.names}
    types: dict[str, pa.DataType] = {}
    for schema in found:
        for one in schema:
            if one.name in types:
                types[one.name] = merge_types(types[one.name], one.type)
            elif one.name.casefold() not in spellings:
                if len(known) + len(types) >= FIELDS_MAX:
                    continue
                spellings.add(one.name.casefold())
                types[one.name] = one.type
    return pa.schema([*known, *(pa.field(name, kind) for name, kind in types.items())])

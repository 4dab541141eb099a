"""Which names of fields can be columns, and how they live beside the columns of the record itself.

Spark, Delta and DuckDB compare names without regard to case, and Delta refuses some characters. A
record with a field that cannot be a column is parked: dropping the field would be a silent loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

NAME_CHARACTERS_MAX = 255
FORBIDDEN = frozenset(" ,;{}()\n\t=")

RECORD_COLUMNS = ("key", "topic", "partition", "offset", "timestamp", "timestamp_type", "headers")
"""Columns that every table has, whatever the values are."""
PARTITION_COLUMNS = ("date", "hour")
"""Columns that tables take from the timestamp."""
PREFIX = "value_"

_TAKEN = frozenset((*RECORD_COLUMNS, *PARTITION_COLUMNS))


def is_column_name(name: str) -> bool:
    return (
        0 < len(name) <= NAME_CHARACTERS_MAX
        and not FORBIDDEN.intersection(name)
        and name.isprintable()
    )


def column_of(field: str) -> str:
    """The column of a field of the value: ``timestamp`` becomes ``value_timestamp``.

    No two fields get the same column: a field whose own name is such a column moves one further.
    """
    return PREFIX + field if _is_taken(field) else field


def field_of(column: str) -> str:
    """The way back."""
    if column.startswith(PREFIX) and _is_taken(column[len(PREFIX) :]):
        return column[len(PREFIX) :]
    return column


def _is_taken(name: str) -> bool:
    folded = name.casefold()
    while folded.startswith(PREFIX):
        folded = folded[len(PREFIX) :]
    return folded in _TAKEN


def same_but_for_case(names: Iterable[str]) -> tuple[str, str] | None:
    """Two of the names that one table cannot both have."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            return other, name
    return None

"""What verbs print: tables for people, JSON for scripts, notes on standard error.

Standard output carries results and nothing else, so that a pipe gets only those.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Row = dict[str, object]


def print_json(value: object) -> None:
    """One document, with the keys in the order in which they were made."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def note(message: str) -> None:
    """A remark for people, beside the result."""
    print(message, file=sys.stderr)


def print_rows(rows: Sequence[Row], columns: Sequence[str], *, as_json: bool) -> None:
    """Rows as a table, or as a JSON array with all that the rows have."""
    if as_json:
        print_json(rows)
    elif sys.stdout.isatty():
        _print_rich_table(rows, columns)
    else:
        _print_plain_table(rows, columns)


def print_pairs(pairs: Row, *, as_json: bool) -> None:
    """One thing: a line for each of its facts."""
    if as_json:
        print_json(pairs)
        return
    width = max((len(name) for name in pairs), default=0)
    for name, value in pairs.items():
        print(f"{name.replace('_', ' '):<{width}}  {_text(value)}".rstrip())


def _print_plain_table(rows: Iterable[Row], columns: Sequence[str]) -> None:
    cells = [[_text(row.get(column)) for column in columns] for row in rows]
    heads = [_head(column) for column in columns]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for line in (heads, *cells):
        print(
            "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
        )


def _print_rich_table(rows: Iterable[Row], columns: Sequence[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(_head(column), overflow="fold")
    for row in rows:
        # Text, not str: names must not be read as markup.
        table.add_row(*(Text(_text(row.get(column))) for column in columns))
    Console().print(table)


def _head(column: str) -> str:
    return column.replace("_", " ").upper()


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(value)

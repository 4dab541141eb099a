"""TOML beyond the standard library's parser: where a field stands, and how to write a file.

``tomllib`` reads but keeps no lines, so an error about a field is given its line by a second look
at the text. That look knows tables and plain keys, which is all that a definition has.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEADER = re.compile(r"^\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""^\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_.-]+)\s*=""")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def maybe_line_of(text: str, table: str, key: str | None = None) -> int | None:
    """The line, from 1, of a key in a table, else of the table's header; None if it has none."""
    current, header_line = "", None
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header:
            current = header[1].replace('"', "").replace("'", "")
            if current == table:
                header_line = number
            continue
        found = _KEY.match(line)
        if key is not None and found and current == table and _unquoted(found[1]) == key:
            return number
    return header_line


def to_toml(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Tables of plain values (text, numbers, booleans, lists of them), in the order given."""
    return "\n".join(_table(name, values) for name, values in tables.items() if values)


def _table(name: str, values: Mapping[str, Any]) -> str:
    lines = [f"{_key(key)} = {_value(value)}" for key, value in values.items()]
    return "\n".join([f"[{name}]", *lines, ""])


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    # JSON's spelling of these types is TOML's too; DEL alone must be escaped by hand.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _unquoted(key: str) -> str:
    return key[1:-1] if key[0] in "\"'" else key

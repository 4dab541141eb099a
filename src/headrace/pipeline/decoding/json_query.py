"""The one query of DuckDB that turns an array of JSON texts into columns.

Why DuckDB: it is the fastest of what was tried, and it survives all input. Arrow's reader of JSON,
the next one, ends the process with a segmentation fault at a record that is just ``null``.

``json_transform`` is lenient (a wrong type becomes null, 2.5 becomes 2), so the query also returns
the JSON type of each field; ``json_check`` holds them against the schema.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from headrace.model.errors import InvalidConfig

if TYPE_CHECKING:
    from headrace.pipeline.decoding.json_shape import JsonShape

_INTEGERS = frozenset(("BIGINT", "UBIGINT"))
_NUMBERS = _INTEGERS | {"DOUBLE", "HUGEINT", "UHUGEINT"}
_TEXTS = frozenset(("VARCHAR",))
_ANYTHING = _NUMBERS | _TEXTS | {"BOOLEAN", "OBJECT", "ARRAY"}
_SCALARS: dict[pa.DataType, tuple[str, frozenset[str]]] = {
    pa.int64(): ("BIGINT", _INTEGERS),
    pa.int32(): ("INTEGER", _INTEGERS),
    pa.float64(): ("DOUBLE", _NUMBERS),
    pa.float32(): ("FLOAT", _NUMBERS),
    pa.bool_(): ("BOOLEAN", frozenset(("BOOLEAN",))),
    pa.string(): ("VARCHAR", _TEXTS),
    pa.date32(): ("VARCHAR", _TEXTS),
    pa.timestamp("us", "UTC"): ("VARCHAR", _TEXTS),
}
SCALAR_TYPES = frozenset(_SCALARS)

TABLE = "json_values"
VALUE = "v"
ROW, TYPES, KEYS = "row", "types", "keys"
_WHOLE = "$"
"""The path of the whole value: its type comes before those of the nodes."""


class Node(NamedTuple):
    """One place in the objects whose JSON type is looked at."""

    path: tuple[str, ...]
    allowed: frozenset[str]
    kind: pa.DataType
    is_required: bool


def pointer(path: tuple[str, ...]) -> str:
    """RFC 6901."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)


def elements_path(path: tuple[str, ...]) -> str:
    """Of the elements of an array, in DuckDB's words; a name in it has no quotation mark."""
    return "$" + "".join(f'."{part}"' for part in path) + "[*]"


def is_scalar(kind: pa.DataType) -> bool:
    return kind in SCALAR_TYPES


def element_types(kind: pa.DataType) -> frozenset[str]:
    """JSON types that elements of a list of ``kind`` may have."""
    return _SCALARS[kind.value_type][1]


def can_query(kind: pa.DataType, name: str = "", *, is_nested: bool = False) -> bool:
    """False for what the query cannot check: objects or arrays inside arrays, nested moments."""
    if pa.types.is_list(kind):
        return is_scalar(kind.value_type) and not _is_temporal(kind.value_type) and '"' not in name
    if pa.types.is_struct(kind):
        return kind.num_fields > 0 and all(
            can_query(child.type, child.name, is_nested=True) for child in kind
        )
    return is_scalar(kind) and not (is_nested and _is_temporal(kind))


def _is_temporal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_temporal(kind))


def nodes_of(shape: JsonShape) -> list[Node]:
    """Every place to look at; texts are none where they take whatever comes."""
    nodes: list[Node] = []

    def visit(path: tuple[str, ...], kind: pa.DataType) -> None:
        is_required = path in shape.required
        if pa.types.is_struct(kind):
            nodes.append(Node(path, frozenset(("OBJECT",)), kind, is_required))
            for child in kind:
                visit((*path, child.name), child.type)
        elif pa.types.is_list(kind):
            nodes.append(Node(path, frozenset(("ARRAY",)), kind, is_required))
        elif shape.takes_all(path, kind):
            if is_required:
                nodes.append(Node(path, _ANYTHING, kind, is_required))
        else:
            nodes.append(Node(path, _SCALARS[kind][1], kind, is_required))

    for field in shape.fields:
        visit((field.name,), field.type)
    return nodes


def query_text(fields: pa.Schema, nodes: list[Node], lists: list[Node], *, with_keys: bool) -> str:
    """A column each for the types of the value and of the nodes, the row, the keys, and each list.

    Each of them parses the text anew, so there are as few as possible.
    """
    pointers = ", ".join(map(quoted, (_WHOLE, *(pointer(node.path) for node in nodes))))
    parts = [f"try(json_type({VALUE}, [{pointers}])) as {TYPES}"]
    if len(fields):
        structure = {field.name: _structure(field.type) for field in fields}
        parts.append(f"try(json_transform({VALUE}, {quoted(json.dumps(structure))})) as {ROW}")
    if with_keys:
        parts.append(f"try(json_keys({VALUE})) as {KEYS}")
    parts += [
        f"try(json_type({VALUE}, {quoted(elements_path(node.path))})) as list_{number}"
        for number, node in enumerate(lists)
    ]
    return f"select {', '.join(parts)} from {TABLE}"


def _structure(kind: pa.DataType) -> Any:
    if pa.types.is_list(kind):
        return [_structure(kind.value_type)]
    if pa.types.is_struct(kind):
        return {child.name: _structure(child.type) for child in kind}
    try:
        return _SCALARS[kind][0]
    except KeyError:
        raise InvalidConfig(f"a JSON field cannot be of type {kind}") from None


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

"""Holds the JSON types of fields against what the schema allows, for whole arrays at a time.

The records that do not fit are rare, so sentences are made for those only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.decoding.json_query import element_types
from headrace.pipeline.decoding.model import BadValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headrace.pipeline.decoding.json_query import Node

NO_VALUE = frozenset((None, "NULL"))
_WORDS = {
    "VARCHAR": "a text",
    "BIGINT": "an integer",
    "UBIGINT": "an integer",
    "DOUBLE": "a number",
    "BOOLEAN": "a boolean",
    "OBJECT": "an object",
    "ARRAY": "an array",
}


class Findings:
    """The bad records of one array, and why; the first reason stays."""

    def __init__(self, count: int) -> None:
        self.mask: NDArray[np.bool_] = np.zeros(count, np.bool_)
        self._reasons: dict[int, str] = {}

    def add(self, index: int, reason: str) -> None:
        self.mask[index] = True
        self._reasons.setdefault(index, reason)

    def good(self) -> pa.Int64Array | None:
        """Indices of the rest; None if all are good."""
        return pa.array(np.flatnonzero(~self.mask), pa.int64()) if self._reasons else None

    def bad(self) -> list[BadValue]:
        return [BadValue(index, self._reasons[index]) for index in sorted(self._reasons)]


class TypeCheck:
    """The JSON types that records have at each node; those of the whole records come first."""

    def __init__(
        self, types: pa.ListArray, nodes: Sequence[Node], is_object: NDArray[np.bool_]
    ) -> None:
        self._nodes = nodes
        self._is_object = is_object
        codes, self._words = type_codes(types, 1 + len(nodes))
        self._codes = codes[:, 1:]
        self._is_nothing = np.array([word in NO_VALUE for word in self._words], np.bool_)

    def find_conflicts(self, findings: Findings) -> None:
        for number, node in enumerate(self._nodes):
            is_right = np.array([word in node.allowed for word in self._words], np.bool_)
            is_right |= self._is_nothing
            for index in np.flatnonzero(~is_right[self._codes[:, number]]):
                found = self._words[self._codes[index, number]]
                findings.add(int(index), conflict(_name(node), found, node.kind))

    def find_missing(self, findings: Findings) -> None:
        """Required fields; of an object that is not there itself nothing is required."""
        numbers = {node.path: number for number, node in enumerate(self._nodes)}
        for number, node in enumerate(self._nodes):
            if not node.is_required:
                continue
            is_missing = self._is_object & self._is_absent(number)
            parent = numbers.get(node.path[:-1])
            if parent is not None:
                is_missing &= ~self._is_absent(parent)
            for index in np.flatnonzero(is_missing):
                findings.add(int(index), f"field {_name(node)} is missing")

    def find_lost(self, row: pa.StructArray, findings: Findings) -> None:
        """What was there but became null or infinite did not fit: a number out of range."""
        for number, node in enumerate(self._nodes):
            column = _at(row, node.path)
            lost = []
            if column.null_count:
                is_null = column.is_null().to_numpy(zero_copy_only=False)
                lost += np.flatnonzero(is_null & ~self._is_absent(number)).tolist()
            if pa.types.is_floating(node.kind):
                is_infinite = pc.fill_null(pc.is_inf(column), False)
                lost += np.flatnonzero(is_infinite.to_numpy(zero_copy_only=False)).tolist()
            for index in lost:
                findings.add(index, f"field {_name(node)}: the value is out of range")

    def _is_absent(self, number: int) -> NDArray[np.bool_]:
        absent: NDArray[np.bool_] = self._is_nothing[self._codes[:, number]]
        return absent


def type_codes(types: pa.ListArray, width: int) -> tuple[NDArray[np.int32], list[str | None]]:
    """The types as small numbers, a row per record; records without any have the last number."""
    flat = types.flatten().dictionary_encode()
    words: list[str | None] = [*flat.dictionary.to_pylist(), None]
    nothing = len(words) - 1
    codes = np.full((len(types), width), nothing, np.int32)
    filled = pc.fill_null(flat.indices, nothing).to_numpy(zero_copy_only=False)
    codes[types.is_valid().to_numpy(zero_copy_only=False)] = filled.reshape(-1, width)
    return codes, words


def check_elements(
    types: pa.ListArray, row: pa.StructArray, node: Node, findings: Findings
) -> None:
    """Finds arrays with an element of a wrong type, or one that the type does not hold."""
    allowed = pa.array([*element_types(node.kind), "NULL"], pa.string())
    found = types.flatten()
    wrong = pc.invert(pc.is_in(found, allowed))
    if pc.any(wrong).as_py():
        rows = pc.list_parent_indices(types).filter(wrong).to_pylist()
        for index, word in zip(rows, found.filter(wrong).to_pylist(), strict=True):
            findings.add(index, conflict(_name(node), word, node.kind.value_type, "has"))
    column = _at(row, node.path)
    for index in pc.unique(
        pc.list_parent_indices(column).filter(column.flatten().is_null())
    ).to_pylist():
        given = types[index].as_py() or []
        if given.count("NULL") != column[index].as_py().count(None):
            findings.add(index, f"field {_name(node)}: an element is out of range")


def conflict(name: str, found: str | None, kind: pa.DataType, verb: str = "is") -> str:
    return f"field {name} {verb} {_WORDS.get(found or '', 'null')}, expected {kind}"


def _name(node: Node) -> str:
    return ".".join(node.path)


def _at(row: pa.StructArray, path: tuple[str, ...]) -> pa.Array:
    column: pa.Array = row
    for part in path:
        column = pc.struct_field(column, [column.type.get_field_index(part)])
    return column

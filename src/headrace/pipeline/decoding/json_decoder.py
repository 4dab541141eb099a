"""JSON objects as columns, in whole arrays; the records that do not fit are named one by one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.decoding.json_check import Findings, TypeCheck, check_elements
from headrace.pipeline.decoding.json_inference import merge_guesses
from headrace.pipeline.decoding.json_new_fields import NewFields
from headrace.pipeline.decoding.json_query import (
    KEYS,
    ROW,
    TABLE,
    TYPES,
    VALUE,
    nodes_of,
    query_text,
)
from headrace.pipeline.decoding.json_shape import ELEMENT, JsonShape
from headrace.pipeline.decoding.model import NO_FIELDS, BadValue, DecodedValues
from headrace.pipeline.decoding.temporal import parse_texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

MEMORY_LIMIT = "512MB"
REASON_CHARACTERS_MAX = 200


class JsonDecoder:
    """Objects of one shape; fields that a closed shape does not have are left out."""

    def __init__(self, shape: JsonShape) -> None:
        fields = shape.fields
        self._fields = fields
        self._new_fields = NewFields(fields.names) if shape.is_open else None
        self._nodes = nodes_of(shape)
        self._lists = [
            node
            for node in self._nodes
            if pa.types.is_list(node.kind)
            and not shape.takes_all((*node.path, ELEMENT), node.kind.value_type)
        ]
        self._query = query_text(fields, self._nodes, self._lists, with_keys=shape.is_open)
        self._connection = duckdb.connect(
            config={
                "threads": 1,
                "memory_limit": MEMORY_LIMIT,
                "autoinstall_known_extensions": "false",
            }
        )

    def schema(self) -> pa.Schema:
        return self._fields

    def decode(self, values: pa.BinaryArray) -> DecodedValues:
        try:
            return self._decode(values)
        except duckdb.Error as error:  # a text of some megabytes can be a document of many more
            if len(values) == 1:
                reason = f"cannot be read: {str(error).splitlines()[0]}"
                nothing = pa.RecordBatch.from_pylist([], self._fields)
                return DecodedValues(nothing, pa.array([], pa.int64()), [BadValue(0, reason)])
        middle = len(values) // 2
        return _joined(values, self.decode(values[:middle]), self.decode(values[middle:]))

    def _decode(self, values: pa.BinaryArray) -> DecodedValues:
        findings = Findings(len(values))
        texts = _as_texts(values, findings)
        result = self._run(self._query, texts)
        kinds = pc.list_element(result[TYPES], 0)
        self._check_kinds(kinds, texts, findings)
        columns = self._columns(result, kinds, findings)
        new_fields = NO_FIELDS
        if self._new_fields is not None:
            new_fields = self._new_fields.find(result[KEYS], texts, findings, self._run)
        good = findings.good()
        batch = _batch(columns, self._fields, len(values))
        if good is not None:
            batch = batch.take(good)
        return DecodedValues(batch, good, findings.bad(), new_fields)

    def _run(self, query: str, texts: pa.StringArray) -> dict[str, pa.Array]:
        self._connection.register(TABLE, pa.table({VALUE: texts}))
        try:
            table = self._connection.sql(query).to_arrow_table()
        finally:
            self._connection.unregister(TABLE)
        return {name: _whole(table.column(name)) for name in table.column_names}

    def _check_kinds(
        self, kinds: pa.StringArray, texts: pa.StringArray, findings: Findings
    ) -> None:
        """Only objects, JSON's null and nulls may stay."""
        is_right = pc.or_kleene(pc.equal(kinds, "OBJECT"), pc.equal(kinds, "NULL"))
        wrong = pc.and_(pc.is_valid(texts), pc.invert(pc.fill_null(is_right, False)))
        for index in _indices(wrong):
            kind = kinds[index].as_py()
            findings.add(
                index,
                _syntax_error(texts[index].as_py())
                if kind is None
                else f"expected a JSON object, found {kind.lower()}",
            )

    def _columns(
        self, result: dict[str, pa.Array], kinds: pa.StringArray, findings: Findings
    ) -> list[pa.Array]:
        if ROW not in result:
            return []
        row = result[ROW]
        if self._nodes:
            check = TypeCheck(result[TYPES], self._nodes, _is_object(kinds))
            check.find_conflicts(findings)
            check.find_missing(findings)
            check.find_lost(row, findings)
        for number, node in enumerate(self._lists):
            check_elements(result[f"list_{number}"], row, node, findings)
        return [
            parse_texts(array, field.type, field.name, findings.add)
            for array, field in zip(row.flatten(), self._fields, strict=True)
        ]


def _joined(values: pa.BinaryArray, first: DecodedValues, second: DecodedValues) -> DecodedValues:
    """What became of ``values``, whose first and second half were decoded on their own."""
    middle = len(values) // 2
    good = [
        *(range(middle) if first.good is None else first.good.to_pylist()),
        *(
            range(middle, len(values))
            if second.good is None
            else (middle + index for index in second.good.to_pylist())
        ),
    ]
    columns = first.columns
    if columns.num_columns:
        columns = pa.concat_batches([columns, second.columns])
    moved = [BadValue(middle + one.index, one.reason) for one in second.bad]
    new_fields = merge_guesses(NO_FIELDS, [first.new_fields, second.new_fields])
    return DecodedValues(columns, pa.array(good, pa.int64()), [*first.bad, *moved], new_fields)


def _batch(columns: list[pa.Array], fields: pa.Schema, rows: int) -> pa.RecordBatch:
    if columns:
        return pa.RecordBatch.from_arrays(columns, schema=fields)
    return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))


def _is_object(kinds: pa.StringArray) -> NDArray[np.bool_]:
    is_object: NDArray[np.bool_] = pc.fill_null(pc.equal(kinds, "OBJECT"), False).to_numpy(
        zero_copy_only=False
    )
    return is_object


def _as_texts(values: pa.BinaryArray, findings: Findings) -> pa.StringArray:
    """The same as text; what is not UTF-8 is null and found."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        numbered = enumerate(values.to_pylist())
        return pa.array([_text(index, value, findings) for index, value in numbered], pa.string())


def _text(index: int, value: bytes | None, findings: Findings) -> str | None:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        findings.add(index, f"no UTF-8: {error.reason} at byte {error.start}")
        return None


def _syntax_error(text: str) -> str:
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"no JSON: {str(error)[:REASON_CHARACTERS_MAX]}"
    return "no JSON"


def _whole(column: pa.ChunkedArray) -> pa.Array:
    chunks = column.combine_chunks()
    return chunks if isinstance(chunks, pa.Array) else pa.concat_arrays(chunks.chunks)


def _indices(mask: pa.BooleanArray) -> list[int]:
    return [int(index) for index in np.flatnonzero(mask.to_numpy(zero_copy_only=False))]

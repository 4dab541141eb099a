"""Avro without a container: each value is one datum of a known schema.

pyruhvro (Rust) decodes whole arrays, about fifteen times as fast as fastavro, but it knows no
bytes, fixed, decimals or several-type unions: those schemas go to fastavro, record by record.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyruhvro

from headrace.model.errors import InvalidConfig
from headrace.pipeline.decoding.avro_types import plan_of
from headrace.pipeline.decoding.salvage import decode_salvaging
from headrace.pipeline.decoding.storable import to_storable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.pipeline.decoding.model import DecodedValues

WHOLE = "value"
"""The column of a schema that is no record."""


class AvroDecoder:
    """Data of one schema; ``references`` are texts of schemas that it names."""

    def __init__(self, text: str, references: Sequence[str] = ()) -> None:
        document = _as_record(_inlined(text, references))
        named: dict[str, Any] = {}
        try:
            self._parsed = fastavro.parse_schema(document, named)
        except (fastavro.schema.SchemaParseException, KeyError, TypeError, ValueError) as error:
            raise InvalidConfig(f"no usable Avro schema: {error}") from error
        plan = plan_of(self._parsed, named)
        self._schema = pa.schema(list(plan.kind))
        self._convert = plan.convert
        self._text = json.dumps(document)
        self._decode = (
            self._decode_fast if plan.is_fast and len(self._schema) else self._decode_slow
        )

    def schema(self) -> pa.Schema:
        return self._schema

    def decode(self, values: pa.BinaryArray) -> DecodedValues:
        return decode_salvaging(values, self._schema, self._decode)

    def _decode_fast(self, values: pa.BinaryArray) -> pa.RecordBatch:
        batch = pyruhvro.deserialize_array(values.to_pylist(), self._text)
        return to_storable(batch, self._schema)

    def _decode_slow(self, values: pa.BinaryArray) -> pa.RecordBatch:
        rows = [self._read(payload) for payload in values.to_pylist()]
        return pa.RecordBatch.from_struct_array(pa.array(rows, pa.struct(list(self._schema))))

    def _read(self, payload: bytes) -> Any:
        stream = io.BytesIO(payload)
        value = fastavro.schemaless_reader(stream, self._parsed, None)
        if stream.tell() != len(payload):
            raise ValueError(f"{len(payload) - stream.tell()} bytes too many")
        return value if self._convert is None else self._convert(value)


def defaults_of(text: str) -> dict[str, Any]:
    """What a reader with this schema takes for fields that the writer did not have."""
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("type") != "record":
        return {}
    return {
        field["name"]: field["default"]
        for field in document["fields"]
        if field.get("default") is not None
    }


def _as_record(document: Any) -> dict[str, Any]:
    """A record takes no bytes of its own, so anything can be read as a record of one field."""
    if isinstance(document, dict) and document.get("type") == "record":
        return document
    return {"type": "record", "name": "Whole", "fields": [{"name": WHOLE, "type": document}]}


def _inlined(text: str, references: Sequence[str]) -> Any:
    """The schema with the definitions of the references where they are first named."""
    try:
        document = json.loads(text)
        definitions = [json.loads(reference) for reference in references]
    except ValueError as error:
        raise InvalidConfig(f"an Avro schema that is no JSON: {error}") from error
    missing = {_full_name(definition): definition for definition in definitions}

    def walk(part: Any) -> Any:
        if isinstance(part, str):
            definition = missing.pop(part, None)
            return part if definition is None else walk(definition)
        if isinstance(part, list):
            return [walk(one) for one in part]
        inner = {key: walk(part[key]) for key in ("type", "items", "values") if key in part}
        if "fields" in part:
            inner["fields"] = [{**field, "type": walk(field["type"])} for field in part["fields"]]
        return {**part, **inner}

    return walk(document)


def _full_name(definition: Any) -> str:
    if not isinstance(definition, dict) or "name" not in definition:
        raise InvalidConfig("a reference to an Avro schema that has no name")
    name, space = definition["name"], definition.get("namespace")
    return name if "." in name or not space else f"{space}.{name}"

"""Values that name their schema: each record is decoded with the schema it was written with, and
then brought into the columns of the table.

A schema that has more fields than the table reports them, so that the columns come before the
records do; an id that the registry does not know is the record's fault.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.model.errors import InvalidConfig
from headrace.pipeline.decoding.aligned_decoder import without_bad
from headrace.pipeline.decoding.alignment import align, merge_fields
from headrace.pipeline.decoding.avro_decoder import AvroDecoder
from headrace.pipeline.decoding.errors import SchemaNotRegistered
from headrace.pipeline.decoding.json_schema_decoder import json_schema_decoder
from headrace.pipeline.decoding.model import BadValue, DecodedValues
from headrace.pipeline.decoding.protobuf_decoder import ProtobufDecoder, link, message_by_indexes
from headrace.pipeline.decoding.registry_client import AVRO, JSON, PROTOBUF
from headrace.pipeline.decoding.wire_format import (
    PREFIX_BYTES,
    group_by_schema,
    message_indexes,
    only_schema,
)
from headrace.pipeline.errors import SchemaConflict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.pipeline.decoding.model import ValueDecoder
    from headrace.pipeline.decoding.registry_client import RegisteredSchema, RegistryClient

DECODERS_MAX = 1_000
"""Schemas that one decoder keeps ready."""


class RegistryDecoder:
    """``fields``: the table's; ``defaults``: of the newest schema, for fields older ones lack."""

    def __init__(
        self, client: RegistryClient, fields: pa.Schema, defaults: Mapping[str, Any]
    ) -> None:
        self._client = client
        self._fields = fields
        self._defaults = defaults
        self._decoders: dict[tuple[int, tuple[int, ...]], ValueDecoder] = {}

    def schema(self) -> pa.Schema:
        return self._fields

    def decode(self, values: pa.BinaryArray) -> DecodedValues:
        schema_id = only_schema(values)
        if schema_id is not None:
            return self._decode_group(schema_id, values.to_pylist(), range(len(values)))
        groups, unframed = group_by_schema(values)
        payloads = values.to_pylist()
        parts = [
            self._decode_group(group.schema_id, [payloads[i] for i in group.indices], group.indices)
            for group in groups
        ]
        nulls = [index for index, payload in enumerate(payloads) if payload is None]
        if nulls:
            rows = pa.RecordBatch.from_arrays(
                [pa.nulls(len(nulls), field.type) for field in self._fields], schema=self._fields
            )
            parts.append(DecodedValues(rows, pa.array(nulls, pa.int64())))
        bad = [BadValue(one.index, one.reason) for one in unframed]
        return self._joined(parts, bad)

    def _joined(self, parts: Sequence[DecodedValues], bad: list[BadValue]) -> DecodedValues:
        """The rows of all parts in the order of the array."""
        rows = pa.Table.from_batches([part.columns for part in parts], self._fields)
        good = pa.chunked_array([part.good for part in parts], pa.int64())
        order = pc.sort_indices(good)
        batches = rows.take(order).combine_chunks().to_batches()
        found = [*bad, *(one for part in parts for one in part.bad)]
        return DecodedValues(
            batches[0] if batches else pa.RecordBatch.from_pylist([], self._fields),
            good.take(order).combine_chunks(),
            sorted(found),
            merge_fields([part.new_fields for part in parts], keep_first=True),
        )

    def _decode_group(
        self, schema_id: int, payloads: Sequence[bytes], indices: Sequence[int]
    ) -> DecodedValues:
        try:
            schema = self._client.schema(schema_id)
        except SchemaNotRegistered:
            return self._all_bad(indices, f"schema {schema_id} is not in the registry")
        parts, bad = [], []
        for message, members, bodies, broken in _by_message(schema.kind, payloads):
            bad += [BadValue(indices[number], reason) for number, reason in broken]
            if bodies:
                places = [indices[number] for number in members]
                parts.append(self._decode_message(schema_id, schema, message, bodies, places))
        if len(parts) == 1 and not bad:
            return parts[0]
        return self._joined(parts, bad)

    def _decode_message(
        self,
        schema_id: int,
        schema: RegisteredSchema,
        message: tuple[int, ...],
        bodies: Sequence[bytes],
        indices: Sequence[int],
    ) -> DecodedValues:
        try:
            decoder = self._decoder(schema_id, schema, message)
        except (InvalidConfig, SchemaConflict) as error:
            return self._all_bad(indices, f"schema {schema_id}: {error.message}")
        decoded = decoder.decode(pa.array(bodies, pa.binary()))
        aligned = align(decoded.columns, self._fields, self._defaults)
        result = without_bad(decoded, aligned.columns, aligned.bad, len(bodies))
        good = range(len(bodies)) if result.good is None else result.good.to_pylist()
        return DecodedValues(
            result.columns,
            pa.array([indices[number] for number in good], pa.int64()),
            [BadValue(indices[one.index], one.reason) for one in result.bad],
            aligned.new_fields,
        )

    def _decoder(
        self, schema_id: int, schema: RegisteredSchema, message: tuple[int, ...]
    ) -> ValueDecoder:
        key = schema_id, message
        found = self._decoders.get(key)
        if found is None:
            if len(self._decoders) >= DECODERS_MAX:
                self._decoders.clear()
            found = self._decoders[key] = decoder_of(schema, message)
        return found

    def _all_bad(self, indices: Sequence[int], reason: str) -> DecodedValues:
        return DecodedValues(
            pa.RecordBatch.from_pylist([], self._fields),
            pa.array([], pa.int64()),
            [BadValue(index, reason) for index in indices],
        )


def decoder_of(schema: RegisteredSchema, message: tuple[int, ...]) -> ValueDecoder:
    if schema.kind == AVRO:
        return AvroDecoder(schema.text, [reference.text for reference in schema.references])
    if schema.kind == JSON:
        return json_schema_decoder(schema.text, {one.name: one.text for one in schema.references})
    if schema.kind == PROTOBUF:
        dependencies = {one.name: base64.b64decode(one.text) for one in schema.references}
        file = link(base64.b64decode(schema.text), dependencies)
        return ProtobufDecoder(message_by_indexes(file, message))
    raise InvalidConfig(f"schemas of kind {schema.kind} are not known here")


def _by_message(
    kind: str, payloads: Sequence[bytes]
) -> list[tuple[tuple[int, ...], list[int], list[bytes], list[tuple[int, str]]]]:
    """Bodies by the message they are of; only Protobuf knows several."""
    if kind != PROTOBUF:
        bodies = [payload[PREFIX_BYTES:] for payload in payloads]
        return [((), list(range(len(payloads))), bodies, [])]
    groups: dict[tuple[int, ...], tuple[list[int], list[bytes]]] = {}
    broken = []
    for number, payload in enumerate(payloads):
        try:
            message, position = message_indexes(payload)
        except ValueError as error:
            broken.append((number, str(error)))
            continue
        members, bodies = groups.setdefault(message, ([], []))
        members.append(number)
        bodies.append(payload[position:])
    result = [(message, *members, list[tuple[int, str]]()) for message, members in groups.items()]
    return [*result, ((), [], [], broken)]

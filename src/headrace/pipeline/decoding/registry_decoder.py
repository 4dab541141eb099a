"""Values that name their schema: each record is decoded with the schema it was written with, and
then brought into the columns of the table.

A schema that has more fields than the table reports them, so that the columns come before the
records do; an id that the registry does not know is the record's fault.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
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
    MessageBodies,
    group_by_message,
    group_by_schema,
    without_prefix,
)
from headrace.pipeline.errors import SchemaConflict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

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
        groups, bad = group_by_schema(values)
        if len(groups) == 1 and len(groups[0].indices) == len(values):
            only = self._decode_group(groups[0].schema_id, values, groups[0].indices)
            return only if only.bad else only._replace(good=None)
        parts = [
            self._decode_group(group.schema_id, values.take(group.indices), group.indices)
            for group in groups
        ]
        if values.null_count:
            nulls = values.is_null().to_numpy(zero_copy_only=False)
            parts.append(self._nulls(np.flatnonzero(nulls)))
        return self._joined(parts, bad)

    def _nulls(self, indices: NDArray[np.int64]) -> DecodedValues:
        arrays = [pa.nulls(len(indices), field.type) for field in self._fields]
        rows = pa.RecordBatch.from_arrays(arrays, schema=self._fields)
        return DecodedValues(rows, pa.array(indices, pa.int64()))

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
        self, schema_id: int, values: pa.BinaryArray, indices: NDArray[np.int64]
    ) -> DecodedValues:
        try:
            schema = self._client.schema(schema_id)
        except SchemaNotRegistered:
            return self._all_bad(indices, f"schema {schema_id} is not in the registry")
        if schema.kind != PROTOBUF:
            whole = MessageBodies((), indices, without_prefix(values))
            return self._decode_message(schema_id, schema, whole)
        messages, found = group_by_message(values)
        parts = [
            self._decode_message(schema_id, schema, one._replace(indices=indices[one.indices]))
            for one in messages
        ]
        if len(parts) == 1 and not found:
            return parts[0]
        return self._joined(parts, [_moved(one, indices) for one in found])

    def _decode_message(
        self, schema_id: int, schema: RegisteredSchema, values: MessageBodies
    ) -> DecodedValues:
        indices, bodies = values.indices, values.bodies
        try:
            decoder = self._decoder(schema_id, schema, values.message)
        except (InvalidConfig, SchemaConflict) as error:
            return self._all_bad(indices, f"schema {schema_id}: {error.message}")
        decoded = decoder.decode(bodies)
        aligned = align(decoded.columns, self._fields, self._defaults)
        result = without_bad(decoded, aligned.columns, aligned.bad, len(bodies))
        good = indices if result.good is None else indices[result.good.to_numpy()]
        return DecodedValues(
            result.columns,
            pa.array(good, pa.int64()),
            [_moved(one, indices) for one in result.bad],
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

    def _all_bad(self, indices: NDArray[np.int64], reason: str) -> DecodedValues:
        return DecodedValues(
            pa.RecordBatch.from_pylist([], self._fields),
            pa.array([], pa.int64()),
            [BadValue(index, reason) for index in indices.tolist()],
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


def _moved(bad: BadValue, indices: NDArray[np.int64]) -> BadValue:
    """The same in the array that the values were taken from."""
    return BadValue(int(indices[bad.index]), bad.reason)

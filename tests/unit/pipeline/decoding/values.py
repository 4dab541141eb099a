"""Short words for the tests of decoders."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa

if TYPE_CHECKING:
    from headrace.pipeline.decoding.model import DecodedValues


def binary(*values: bytes | None) -> pa.BinaryArray:
    return pa.array(values, pa.binary())


def rows(decoded: DecodedValues) -> list[dict[str, Any]]:
    return decoded.columns.to_pylist()


def good(decoded: DecodedValues) -> list[int] | None:
    return None if decoded.good is None else decoded.good.to_pylist()


def reasons(decoded: DecodedValues) -> dict[int, str]:
    return {one.index: one.reason for one in decoded.bad}


def avro(schema: Any, value: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return stream.getvalue()

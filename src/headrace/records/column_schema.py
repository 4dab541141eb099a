"""The columns that record batches are decoded to, and their Arrow types.

They are those of Spark's own Kafka source, down to the name of a list's item: so a decoded batch
goes to Spark as it is. ``headers`` is null where a record has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

KEY = "key"
VALUE = "value"
OFFSET = "offset"
TIMESTAMP = "timestamp"
TIMESTAMP_TYPE = "timestamp_type"
HEADERS = "headers"
COLUMNS = (KEY, VALUE, OFFSET, TIMESTAMP, TIMESTAMP_TYPE, HEADERS)

HEADER_TYPE = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])

SCHEMA = pa.schema(
    [
        pa.field(KEY, pa.binary()),
        pa.field(VALUE, pa.binary()),
        pa.field(OFFSET, pa.int64()),
        pa.field(TIMESTAMP, pa.timestamp("us", tz="UTC")),
        pa.field(TIMESTAMP_TYPE, pa.int32()),
        pa.field(HEADERS, pa.list_(pa.field("element", HEADER_TYPE))),
    ]
)

CREATE_TIME_TYPE = 0
LOG_APPEND_TIME_TYPE = 1

MICROSECONDS_PER_MS = 1000
TIMESTAMP_MS_MAX = (2**63 - 1) // MICROSECONDS_PER_MS
"""Beyond this, in either direction, a timestamp cannot be told in microseconds."""

COLUMN_BYTES_MAX = 2**31 - 1
"""Arrow's binary and list columns count bytes and items in 32 bits."""


def schema_of(columns: Iterable[str]) -> pa.Schema:
    """The fields of the named columns, in their order."""
    return pa.schema([SCHEMA.field(name) for name in columns])

"""How Parquet files are written, by tasks and by compactions.

Measured: zstd at its lowest level makes files half as large as snappy does, for a third more time;
groups of 131,072 rows with a Bloom filter on the key are what look-ups profit from most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

ROW_GROUP_ROWS = 131_072
ROW_GROUP_BYTES = 64 * 1024 * 1024
COMPRESSION = "zstd"
COMPRESSION_LEVELS = {"zstd": 1}
"""Of codecs that have levels."""
BLOOM_FALSE_POSITIVES = 0.05
PAGE_BYTES = 1024 * 1024
PAGE_BYTES_OF = {"snappy": 128 * 1024}
"""A page is compressed right after it was filled: this much is still in the processor's cache, a
megabyte is not (6 % of the time of a file). snappy looks back no further than 64 KiB in any case;
zstd would make files of small pages 2 % larger, and gains nothing."""

KEY = "key"
_RISING = ("offset", "timestamp")
"""Differences of neighbours are small."""
_WHOLE = (KEY, "value")
"""Bytes that nobody has decoded: a dictionary of them would only cost."""


def writer_options(
    schema: pa.Schema, rows_expected: int = ROW_GROUP_ROWS, compression: str = COMPRESSION
) -> dict[str, Any]:
    """For ``pyarrow.parquet.ParquetWriter``."""
    rising = [field.name for field in schema if field.name in _RISING and _is_number(field.type)]
    options: dict[str, Any] = {
        "compression": compression,
        "compression_level": COMPRESSION_LEVELS.get(compression),
        "use_dictionary": [
            path
            for field in schema
            if not is_whole(field) and field.name not in rising
            for path in leaf_paths(field.name, field.type)
        ],
        "column_encoding": dict.fromkeys(rising, "DELTA_BINARY_PACKED"),
        # Statistics of whole values would be as large as the values, and nobody asks for them.
        "write_statistics": [
            path
            for field in schema
            if not is_whole(field) or field.name == KEY
            for path in leaf_paths(field.name, field.type)
        ],
        "write_page_index": True,
        "data_page_size": PAGE_BYTES_OF.get(compression, PAGE_BYTES),
    }
    if any(field.name == KEY and is_whole(field) for field in schema):
        distinct = max(1, min(rows_expected, ROW_GROUP_ROWS))
        options["bloom_filter_options"] = {KEY: {"ndv": distinct, "fpp": BLOOM_FALSE_POSITIVES}}
    return options


def is_whole(field: pa.Field) -> bool:
    return field.name in _WHOLE and bool(pa.types.is_binary(field.type))


def _is_number(kind: pa.DataType) -> bool:
    """As Parquet keeps it."""
    return bool(pa.types.is_int64(kind) or pa.types.is_timestamp(kind))


def leaf_paths(name: str, kind: pa.DataType) -> Iterator[str]:
    """Parquet's names of the columns that a column of Arrow becomes."""
    if pa.types.is_struct(kind):
        for child in kind:
            yield from leaf_paths(f"{name}.{child.name}", child.type)
    elif pa.types.is_list(kind):
        yield from leaf_paths(f"{name}.list.element", kind.value_type)
    elif pa.types.is_map(kind):
        yield from leaf_paths(f"{name}.key_value.key", kind.key_type)
        yield from leaf_paths(f"{name}.key_value.value", kind.item_type)
    else:
        yield name

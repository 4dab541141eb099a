"""For libraries that decode a whole array or nothing: halves it until the bad records stand alone.

One bad record among n costs about 2 log n more calls; the good ones stay in large pieces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.pipeline.decoding.model import BadValue, DecodedValues

if TYPE_CHECKING:
    from collections.abc import Callable

    DecodeAll = Callable[[pa.BinaryArray], pa.RecordBatch]

REASON_CHARACTERS_MAX = 200
PANIC = "PanicException"
"""What a library in Rust raises where it meets something it never thought of. It is no Exception,
and its class cannot be imported."""


def decode_salvaging(values: pa.BinaryArray, schema: pa.Schema, decode: DecodeAll) -> DecodedValues:
    """Nulls become rows of nulls; ``decode`` sees only what is there."""
    batches, found = _halve(values.drop_null() if values.null_count else values, decode)
    rows = pa.Table.from_batches(batches, schema)
    if not found and not values.null_count:
        return DecodedValues(_one_batch(rows, schema), None)
    is_there = values.is_valid().to_numpy(zero_copy_only=False)
    places = np.flatnonzero(is_there)
    bad = [BadValue(int(places[one.index]), one.reason) for one in found]
    is_good = np.ones(len(values), np.bool_)
    is_good[[one.index for one in bad]] = False
    if values.null_count:
        number = np.cumsum(is_there & is_good) - 1  # of the row that each value became
        rows = rows.take(pa.array(number[is_good], mask=~is_there[is_good]))
    good = pa.array(np.flatnonzero(is_good), pa.int64()) if bad else None
    return DecodedValues(_one_batch(rows, schema), good, bad)


def _halve(
    values: pa.BinaryArray, decode: DecodeAll
) -> tuple[list[pa.RecordBatch], list[BadValue]]:
    batches: list[pa.RecordBatch] = []
    bad: list[BadValue] = []
    pieces = [(0, len(values))]  # a stack, the first piece on top
    while pieces:
        start, end = pieces.pop()
        if start == end:
            continue
        try:
            batches.append(_decode_exactly(values[start:end], decode))
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != PANIC:
                raise
            if end - start == 1:
                bad.append(BadValue(start, _reason(error)))
            else:
                middle = (start + end) // 2
                pieces += [(middle, end), (start, middle)]
    return batches, bad


def _decode_exactly(values: pa.BinaryArray, decode: DecodeAll) -> pa.RecordBatch:
    batch = decode(values)
    batch.validate(full=True)  # the libraries do not all look whether a text is UTF-8
    if batch.num_rows != len(values):
        raise ValueError(f"{len(values)} records became {batch.num_rows} rows")
    return batch


def _reason(error: BaseException) -> str:
    return (str(error) or type(error).__name__)[:REASON_CHARACTERS_MAX]


def _one_batch(rows: pa.Table, schema: pa.Schema) -> pa.RecordBatch:
    batches = rows.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema)

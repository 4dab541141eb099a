"""For libraries that decode a whole array or nothing: halves it until the bad records stand alone.

One bad record among n costs about 2 log n more calls; the good ones stay in large pieces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.pipeline.decoding.model import BadValue, DecodedValues

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    DecodeAll = Callable[[Sequence[bytes]], pa.RecordBatch]

REASON_CHARACTERS_MAX = 200
PANIC = "PanicException"
"""What a library in Rust raises where it meets something it never thought of. It is no Exception,
and its class cannot be imported."""


def decode_salvaging(values: pa.BinaryArray, schema: pa.Schema, decode: DecodeAll) -> DecodedValues:
    """Nulls become rows of nulls; ``decode`` sees only what is there."""
    payloads = values.to_pylist()
    present = [index for index, payload in enumerate(payloads) if payload is not None]
    batches, bad = _halve([payloads[index] for index in present], decode)
    bad = [BadValue(present[one.index], one.reason) for one in bad]
    rows = pa.Table.from_batches(batches, schema).combine_chunks()
    is_bad = {one.index for one in bad}
    good = [index for index in range(len(payloads)) if index not in is_bad]
    if len(present) < len(payloads):
        rows = _spread(rows, payloads, is_bad)
    batch = _one_batch(rows, schema)
    return DecodedValues(batch, pa.array(good, pa.int64()) if bad else None, bad)


def _halve(
    payloads: Sequence[bytes], decode: DecodeAll
) -> tuple[list[pa.RecordBatch], list[BadValue]]:
    batches: list[pa.RecordBatch] = []
    bad: list[BadValue] = []
    pieces = [(0, len(payloads))]  # a stack, the first piece on top
    while pieces:
        start, end = pieces.pop()
        if start == end:
            continue
        try:
            batches.append(_decode_exactly(payloads[start:end], decode))
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != PANIC:
                raise
            if end - start == 1:
                bad.append(BadValue(start, _reason(error)))
            else:
                middle = (start + end) // 2
                pieces += [(middle, end), (start, middle)]
    return batches, bad


def _decode_exactly(payloads: Sequence[bytes], decode: DecodeAll) -> pa.RecordBatch:
    batch = decode(payloads)
    batch.validate(full=True)  # the libraries do not all look whether a text is UTF-8
    if batch.num_rows != len(payloads):
        raise ValueError(f"{len(payloads)} records became {batch.num_rows} rows")
    return batch


def _reason(error: BaseException) -> str:
    return (str(error) or type(error).__name__)[:REASON_CHARACTERS_MAX]


def _spread(rows: pa.Table, payloads: Sequence[bytes | None], is_bad: set[int]) -> pa.Table:
    """Puts rows of nulls where the nulls were."""
    positions: list[int | None] = []
    row = 0
    for index, payload in enumerate(payloads):
        if payload is None:
            positions.append(None)
        elif index not in is_bad:
            positions.append(row)
            row += 1
    return rows.take(pa.array(positions, pa.int64()))


def _one_batch(rows: pa.Table, schema: pa.Schema) -> pa.RecordBatch:
    batches = rows.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema)

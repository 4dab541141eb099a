"""A format with a schema of its own, for a table that may have more columns than that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.pipeline.decoding.alignment import align, merge_fields
from headrace.pipeline.decoding.model import BadValue, DecodedValues

if TYPE_CHECKING:
    from headrace.pipeline.decoding.model import ValueDecoder


class AlignedDecoder:
    """``fields``: the columns that the table has."""

    def __init__(self, inner: ValueDecoder, fields: pa.Schema) -> None:
        self._inner = inner
        self._schema = merge_fields([fields, inner.schema()])

    def schema(self) -> pa.Schema:
        return self._schema

    def decode(self, values: pa.BinaryArray) -> DecodedValues:
        decoded = self._inner.decode(values)
        if self._schema == self._inner.schema():
            return decoded
        aligned = align(decoded.columns, self._schema)
        return without_bad(decoded, aligned.columns, aligned.bad, len(values))


def without_bad(
    decoded: DecodedValues, columns: pa.RecordBatch, bad: list[BadValue], count: int
) -> DecodedValues:
    """``columns`` in place of those of ``decoded``, and some of its rows found bad since."""
    if not bad:
        return decoded._replace(columns=columns)
    good = np.arange(count) if decoded.good is None else decoded.good.to_numpy()
    is_good = np.ones(len(good), np.bool_)
    is_good[[one.index for one in bad]] = False
    found = {one.index: one for one in reversed(bad)}  # a row has one reason, the first
    moved = [BadValue(int(good[index]), one.reason) for index, one in found.items()]
    return DecodedValues(
        columns.filter(pa.array(is_good)) if columns.num_columns else columns,
        pa.array(good[is_good], pa.int64()),
        sorted([*decoded.bad, *moved]),
        decoded.new_fields,
    )

"""Columns cut to the size that their reader asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.records.column_schema import OFFSET
from headrace.records.columns import Columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa


def decoded_columns(wanted: Sequence[str]) -> tuple[str, ...]:
    """What to decode: the offsets too, because pieces are told by them."""
    return tuple(wanted) if OFFSET in wanted else (*wanted, OFFSET)


def cut(
    columns: Columns, wanted: Sequence[str], rows_max: int, bytes_max: int
) -> Iterator[Columns]:
    """Pieces of at most ``rows_max`` rows and about ``bytes_max`` bytes, with the wanted columns.

    Nothing is copied. Nothing comes of a batch without rows, unless there is something bad to tell.
    """
    batch, bad = columns.batch, columns.bad
    if not batch.num_rows:
        if bad:
            yield Columns(batch.select(list(wanted)), bad, columns.next_offset)
        return
    step = max(1, min(rows_max, batch.num_rows * bytes_max // max(1, batch.nbytes)))
    for first in range(0, batch.num_rows, step):
        piece = batch.slice(first, step).select(list(wanted))
        next_offset = _offset_at(batch, first + step, columns.next_offset)
        yield Columns(piece, bad, next_offset)
        bad = []


def _offset_at(batch: pa.RecordBatch, row: int, otherwise: int) -> int:
    return batch.column(OFFSET)[row].as_py() if row < batch.num_rows else otherwise

"""Columns in pieces."""

from __future__ import annotations

import pyarrow as pa

from headrace.pipeline.column_batches import cut, decoded_columns
from headrace.records.columns import BadBatch, Columns

BAD = BadBatch(3, 3, "rotten", b"")


def columns(*offsets: int, bad: tuple[BadBatch, ...] = (), next_offset: int = 100) -> Columns:
    values = [b"x" * 10 for _ in offsets]
    batch = pa.record_batch(
        {"value": pa.array(values, pa.binary()), "offset": pa.array(offsets, pa.int64())}
    )
    return Columns(batch, list(bad), next_offset)


def test_offsets_are_always_decoded():
    assert decoded_columns(("value",)) == ("value", "offset")
    assert decoded_columns(("offset", "value")) == ("offset", "value")


def test_pieces_have_no_more_rows_than_wanted():
    pieces = list(cut(columns(1, 2, 5, 7, 9, bad=(BAD,)), ("value",), 2, 10**6))
    assert [piece.batch.num_rows for piece in pieces] == [2, 2, 1]
    assert [piece.next_offset for piece in pieces] == [5, 9, 100]
    assert [piece.bad for piece in pieces] == [[BAD], [], []]
    assert pieces[0].batch.schema.names == ["value"]


def test_pieces_have_about_as_many_bytes_as_wanted():
    whole = columns(*range(100))
    pieces = list(cut(whole, ("value", "offset"), 10**6, whole.batch.nbytes // 10))
    assert len(pieces) == 10
    assert pa.Table.from_batches([piece.batch for piece in pieces]).num_rows == 100


def test_row_larger_than_the_limit_comes_alone():
    assert len(list(cut(columns(1, 2, 3), ("value",), 10, 1))) == 3


def test_nothing_comes_of_no_rows_but_what_is_bad():
    assert list(cut(columns(), ("value",), 10, 10)) == []
    (piece,) = cut(columns(bad=(BAD,)), ("value",), 10, 10)
    assert piece.bad == [BAD]
    assert piece.batch.num_rows == 0

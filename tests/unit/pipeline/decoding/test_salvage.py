"""Halving until the bad ones stand alone."""

from __future__ import annotations

import pyarrow as pa
import pytest

from headrace.pipeline.decoding.salvage import decode_salvaging

from .values import binary, good, reasons, rows

SCHEMA = pa.schema([("n", pa.int64())])


class PanicException(BaseException):
    """As pyo3 raises it."""


class Decoder:
    def __init__(self, fault: type[BaseException] = ValueError) -> None:
        self.calls = 0
        self._fault = fault

    def __call__(self, values: pa.BinaryArray) -> pa.RecordBatch:
        self.calls += 1
        payloads = values.to_pylist()
        if b"bad" in payloads:
            raise self._fault("bad one")
        return pa.RecordBatch.from_pydict({"n": [int(one) for one in payloads]}, schema=SCHEMA)


def test_one_bad_among_many_costs_little() -> None:
    values = [b"%d" % number for number in range(1_000)]
    values[617] = b"bad"
    decode = Decoder()
    decoded = decode_salvaging(binary(*values), SCHEMA, decode)
    assert [row["n"] for row in rows(decoded)] == [n for n in range(1_000) if n != 617]
    assert reasons(decoded) == {617: "bad one"}
    assert decode.calls < 25


def test_all_good_is_one_call() -> None:
    decode = Decoder()
    assert good(decode_salvaging(binary(b"1", b"2"), SCHEMA, decode)) is None
    assert decode.calls == 1


@pytest.mark.parametrize(
    "values",
    [
        (),
        (None,),
        (b"bad",),
        (None, b"bad", b"5", None),
        (b"1", None, b"bad", b"2", None, b"bad", b"3"),
    ],
)
def test_nulls_and_nothing(values: tuple[bytes | None, ...]) -> None:
    decoded = decode_salvaging(binary(*values), SCHEMA, Decoder())
    wanted = [None if one is None else int(one) for one in values if one != b"bad"]
    assert [row["n"] for row in rows(decoded)] == wanted
    assert list(reasons(decoded)) == [at for at, one in enumerate(values) if one == b"bad"]


def test_a_panic_is_a_bad_record() -> None:
    decoded = decode_salvaging(binary(b"1", b"bad"), SCHEMA, Decoder(PanicException))
    assert reasons(decoded) == {1: "bad one"}


def test_an_interrupt_is_not() -> None:
    with pytest.raises(KeyboardInterrupt):
        decode_salvaging(binary(b"bad"), SCHEMA, Decoder(KeyboardInterrupt))


def test_a_library_that_loses_rows_is_not_trusted() -> None:
    decoded = decode_salvaging(
        binary(b"1"), SCHEMA, lambda values: pa.RecordBatch.from_pylist([], SCHEMA)
    )
    assert reasons(decoded) == {0: "1 records became 0 rows"}

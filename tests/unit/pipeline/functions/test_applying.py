from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from headrace.pipeline.functions import Record, function
from headrace.pipeline.functions import applying as applying_module
from headrace.pipeline.functions.applying import OUTPUT_ROWS, OUTPUT_SCHEMA, apply, records_of
from headrace.pipeline.functions.errors import FunctionFailed

if TYPE_CHECKING:
    from collections.abc import Callable

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
TIME = datetime(2024, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)


def rows(*values: bytes | None, headers: Any = None) -> pa.RecordBatch:
    count = len(values)
    return pa.record_batch(
        {
            "key": pa.array([b"k"] * count, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "topic": pa.array(["in"] * count),
            "partition": pa.array([3] * count, pa.int32()),
            "offset": pa.array(range(count), pa.int64()),
            "timestamp": pa.array([TIME] * count, pa.timestamp("us", "UTC")),
            "headers": pa.array([headers] * count, HEADERS),
        }
    )


def run(
    body: Callable[..., Any], *values: bytes | None, headers: Any = None, **options: Any
) -> list[dict[str, Any]]:
    job = function(source="in", sink="out", name="f", **options)(body)
    batches = list(apply(job, job.tables, [rows(*values, headers=headers)]))
    assert all(batch.schema == OUTPUT_SCHEMA for batch in batches)
    return [row for batch in batches for row in batch.to_pylist()]


def test_a_record_knows_where_it_comes_from() -> None:
    (record,) = records_of(rows(b"v", headers=[("h", b"1"), ("n", None)]))
    expected = (("h", b"1"), ("n", None))
    assert record == Record(b"k", b"v", expected, "in", 3, 0, 1704164645678)


def test_headers_may_be_missing() -> None:
    (record,) = records_of(rows(b"v").drop_columns(["headers"]))
    assert record.headers == ()


@pytest.mark.parametrize(
    ("result", "values"),
    [
        (None, []),
        (False, []),
        (True, [b"v"]),
        (b"w", [b"w"]),
        ("ä", ["ä".encode()]),
        (Record(b"x", None), [None]),
        ([], []),
        ([b"a", None, True, Record(None, b"b")], [b"a", b"v", b"b"]),
        ((b"a", b"b"), [b"a", b"b"]),
    ],
)
def test_what_a_function_may_return(result: Any, values: list[bytes | None]) -> None:
    assert [row["value"] for row in run(lambda record: result, b"v")] == values


def test_a_generator_makes_many() -> None:
    def split(record: Record) -> Any:
        for part in (record.value or b"").split():
            yield record._replace(value=part)

    assert [row["value"] for row in run(split, b"a b", b"c")] == [b"a", b"b", b"c"]


def test_key_and_headers_go_along() -> None:
    (row,) = run(lambda record: True, b"v", headers=[("h", b"1")])
    header = {"key": "h", "value": b"1"}
    assert row == {"topic": "out", "key": b"k", "value": b"v", "headers": [header]}


def test_tables_are_the_second_argument() -> None:
    names = {b"1": b"one"}
    found = run(lambda record, tables: tables["names"][record.value], b"1", tables={"names": names})
    assert [row["value"] for row in found] == [b"one"]


def dead_letter(row: dict[str, Any]) -> dict[str, bytes]:
    return {header["key"]: header["value"] for header in row["headers"]}


def test_a_record_that_fails_becomes_a_dead_letter_and_the_others_go_on() -> None:
    found = run(lambda record: b"%d" % (6 // int(record.value)), b"2", b"0", b"3", headers=[])
    assert [(row["topic"], row["value"]) for row in found] == [
        ("out", b"3"),
        ("in.dead-letter", b"0"),
        ("out", b"2"),
    ]
    notes = dead_letter(found[1])
    assert notes["headrace.error.reason"].startswith(b"ZeroDivisionError")
    assert notes["headrace.error.function"] == b"f"
    assert notes["headrace.error.topic"] == b"in"
    assert notes["headrace.error.partition"] == b"3"
    assert notes["headrace.error.offset"] == b"1"


def test_results_before_a_failure_of_the_same_record_are_not_sent() -> None:
    def half(record: Record) -> Any:
        yield b"first"
        raise ValueError("no second")

    assert [row["topic"] for row in run(half, b"v")] == ["in.dead-letter"]


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (5, b"returned int"),
        ({"a": 1}, b"returned dict"),
        ([[b"nested"]], b"returned list among its results"),
        (Record("text", b""), b"the key of a result is str"),  # type: ignore[arg-type]
        (Record(None, 5), b"the value of a result is int"),  # type: ignore[arg-type]
        (Record(None, b"", ((1, b""),)), b"name of a header is int"),  # type: ignore[arg-type]
        (Record(None, b"", (("h", "x"),)), b"header h of a result is str"),  # type: ignore[arg-type]
        (Record(None, b"", (("\ud800", b""),)), b"surrogates not allowed"),
        ("\ud800", b"surrogates not allowed"),
    ],
)
def test_a_wrong_result_is_a_failure_of_the_record(result: Any, reason: bytes) -> None:
    (row,) = run(lambda record: result, b"v")
    assert row["topic"] == "in.dead-letter"
    assert reason in dead_letter(row)["headrace.error.reason"]


def test_a_function_that_yields_for_ever_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applying_module, "RESULTS_PER_RECORD_MAX", 5)

    def endless(record: Record) -> Any:
        while True:
            yield b"x"

    (row,) = run(endless, b"v")
    assert b"more than 5 results" in dead_letter(row)["headrace.error.reason"]


def test_a_function_that_yields_nothing_for_ever_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(applying_module, "RESULTS_PER_RECORD_MAX", 5)
    (row,) = run(lambda record: itertools.repeat(None), b"v")
    assert b"more than 5 results" in dead_letter(row)["headrace.error.reason"]


def test_results_that_fill_the_memory_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applying_module, "RESULT_BYTES_PER_RECORD_MAX", 10)
    (row,) = run(lambda record: itertools.repeat(b"four"), b"v")
    assert b"more than 10 bytes" in dead_letter(row)["headrace.error.reason"]


def test_a_reason_that_is_no_text_is_still_told() -> None:
    def fail(record: Record) -> None:
        raise ValueError("what \udcff")

    (row,) = run(fail, b"v")
    assert dead_letter(row)["headrace.error.reason"] == b"ValueError: what ?"


def test_the_job_can_be_told_to_stop_instead() -> None:
    with pytest.raises(FunctionFailed, match="f, in-3 offset 0: KeyError"):
        run(lambda record: {}[record.value], b"v", on_error="stop")


def test_many_rows_leave_in_several_batches() -> None:
    job = function(source="in", sink="out")(lambda record: [b"x"] * OUTPUT_ROWS)
    batches = list(apply(job, {}, [rows(b"a", b"b")]))
    assert [batch.num_rows for batch in batches] == [OUTPUT_ROWS] * 2


def test_large_rows_leave_in_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applying_module, "OUTPUT_BYTES", 4)
    job = function(source="in", sink="out")(lambda record: True)
    batches = list(apply(job, {}, [rows(b"aaa", b"bbb", None)]))
    assert [batch.num_rows for batch in batches] == [1, 1, 1]

"""What ``log dump`` prints for each kind of value."""

from __future__ import annotations

import json

import pytest

from headrace.cli.log_values import json_fields, text_lines
from headrace.records.build import build_batch
from headrace.records.compression import Compression
from headrace.records.header import read_header
from headrace.records.record import Header, Record
from headrace.storage.inspect import (
    BatchValue,
    EpochValue,
    PartitionOffsetValue,
    Unreadable,
    Value,
)

RECORD = Record(7, 1_000, b"k", None, (Header("h", b"\xff"),))


def a_batch() -> BatchValue:
    batch = build_batch([RECORD], base_offset=7, timestamp_ms=1_000, compression=Compression.ZSTD)
    return BatchValue(0, read_header(batch), True, (RECORD,), None)


def test_batch_has_header_and_records() -> None:
    fields = json_fields(a_batch())
    assert (fields["type"], fields["base_offset"], fields["compression"]) == ("batch", 7, "zstd")
    assert fields["records"] == [
        {
            "offset": 7,
            "timestamp_ms": 1_000,
            "key": "k",
            "value": None,
            "headers": [{"name": "h", "value_base64": "/w=="}],
        }
    ]
    assert json.loads(json.dumps(fields)) == fields


def test_batch_is_a_line_with_lines_for_records() -> None:
    batch, record = text_lines(a_batch())
    assert batch.startswith("  batch position=0 base_offset=7")
    assert "headers=" in record


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (EpochValue(3, 40), "  epoch epoch=3 start_offset=40"),
        (
            PartitionOffsetValue("a", 1, 2),
            "  partition-offset topic=a partition=1 offset=2",
        ),
        (Unreadable(9, "cut", is_tail=True), "  torn tail at byte 9: cut"),
        (Unreadable(-1, "nonsense"), "  UNREADABLE: nonsense"),
    ],
)
def test_other_values_are_one_line(value: Value, line: str) -> None:
    assert list(text_lines(value)) == [line]

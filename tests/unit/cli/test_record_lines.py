"""Records as lines: JSON goes round without loss, whatever the bytes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.record_lines import (
    OutgoingRecord,
    json_line,
    parse_json_line,
    parse_text_line,
    text_line,
)

maybe_bytes = st.none() | st.binary(max_size=40)


@given(
    maybe_bytes,
    maybe_bytes,
    st.lists(st.tuples(st.text(max_size=10), maybe_bytes), max_size=3),
    st.integers(0, 9),
    st.integers(0, 2**41),
)
def test_json_line_makes_the_same_record_again(
    key: bytes | None,
    value: bytes | None,
    headers: list[tuple[str, bytes | None]],
    partition: int,
    timestamp_ms: int,
) -> None:
    line = json_line(
        topic="t",
        partition=partition,
        offset=7,
        timestamp_ms=timestamp_ms,
        key=key,
        value=value,
        headers=headers,
    )
    assert "\n" not in line
    again = parse_json_line(line.encode(), 1)
    assert again == OutgoingRecord(key, value, tuple(headers), partition, timestamp_ms)


def test_json_line_shows_text_as_text_and_other_bytes_as_base64() -> None:
    line = json_line(
        topic="t", partition=0, offset=1, timestamp_ms=0, key=b"\xff", value=b"v", headers=[]
    )
    fields = json.loads(line)
    assert (fields["value"], fields["key_base64"], fields["timestamp"]) == (
        "v",
        "/w==",
        "1970-01-01T00:00:00.000Z",
    )


@pytest.mark.parametrize(
    ("line", "record"),
    [
        ('{"value": "v"}', OutgoingRecord(None, b"v")),
        ('{"key": 1, "value": {"a": [1]}}', OutgoingRecord(b"1", b'{"a":[1]}')),
        ('{"value": null}', OutgoingRecord(None, None)),
        (
            '{"headers": {"a": "b", "c": null}}',
            OutgoingRecord(None, None, (("a", b"b"), ("c", None))),
        ),
        ('{"value": "v", "partition": 0}', OutgoingRecord(None, b"v", (), 0)),
    ],
)
def test_json_line_is_understood(line: str, record: OutgoingRecord) -> None:
    assert parse_json_line(line.encode(), 1) == record


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "line 3: not JSON"),
        ("[1]", "line 3: expected an object"),
        ('{"vlaue": 1}', "line 3: unknown field 'vlaue'"),
        ('{"value_base64": "!"}', "line 3: value_base64 is not base64"),
        ('{"partition": "0"}', "line 3: partition: expected a whole number"),
        ('{"timestamp_ms": true}', "line 3: timestamp_ms: expected a whole number"),
        ('{"headers": [1]}', "line 3: headers: expected"),
        ("[" * 100_000, "line 3: not JSON"),
    ],
)
def test_bad_json_line_is_refused_with_its_number(line: str, message: str) -> None:
    with pytest.raises(Failure) as refused:
        parse_json_line(line.encode(), 3)
    assert refused.value.message.startswith(message)
    assert refused.value.code is ExitCode.USAGE


def test_text_line_loses_its_end_only() -> None:
    assert parse_text_line(b" a b \r\n", None) == OutgoingRecord(None, b" a b ")
    assert parse_text_line(b"k:v:w\n", ":") == OutgoingRecord(b"k", b"v:w")


def test_text_line_without_its_separator_is_refused() -> None:
    with pytest.raises(Failure, match="has no ':'"):
        parse_text_line(b"kv\n", ":")


def test_printed_text_has_headers_and_key_on_request() -> None:
    headers: list[tuple[str, bytes | None]] = [("a", b"1"), ("b", None)]
    plain = text_line(key=b"k", value=b"v", headers=headers, with_key=False, with_headers=False)
    full = text_line(key=b"k", value=None, headers=headers, with_key=True, with_headers=True)
    assert (plain, full) == (b"v\n", b"a=1,b=\tk\t\n")

"""Records as values."""

from __future__ import annotations

from headrace.records.record import Header, Record


def test_record_has_no_headers_unless_given() -> None:
    record = Record(1, 2, b"key", None)
    assert record.headers == ()
    assert record._replace(headers=(Header("h", None),)).headers[0].value is None

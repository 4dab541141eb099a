"""Parsed schemas are kept while there is room for them."""

from __future__ import annotations

import pytest

from headrace.schemas import parsed_schemas
from headrace.schemas.errors import InvalidSchema
from headrace.schemas.model import Kind
from headrace.schemas.parsed_schemas import ParsedSchemas


def test_schema_is_parsed_once() -> None:
    parsed = ParsedSchemas()
    assert parsed.parse(Kind.AVRO, '"int"') is parsed.parse(Kind.AVRO, '"int"')


def test_those_not_used_for_longest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsed_schemas, "KEPT_LENGTH_MAX", len('"int""long"'))
    parsed = ParsedSchemas()
    first, second = parsed.parse(Kind.AVRO, '"int"'), parsed.parse(Kind.AVRO, '"long"')
    assert parsed.parse(Kind.AVRO, '"int"') is first
    parsed.parse(Kind.AVRO, '"null"')
    assert len(parsed) == 2
    assert parsed.parse(Kind.AVRO, '"int"') is first
    assert parsed.parse(Kind.AVRO, '"long"') is not second


def test_what_is_too_long_or_broken_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsed_schemas, "KEPT_LENGTH_MAX", len('"int"'))
    parsed = ParsedSchemas()
    parsed.parse(Kind.AVRO, '"double"')
    with pytest.raises(InvalidSchema):
        parsed.parse(Kind.AVRO, "{")
    assert len(parsed) == 0
    assert parsed.parse(Kind.AVRO, '"int"') is parsed.parse(Kind.AVRO, '"int"')

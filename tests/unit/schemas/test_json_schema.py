"""JSON Schema: what is refused, and the forms of the text."""

from __future__ import annotations

import pytest

from headrace.schemas.errors import InvalidSchema
from headrace.schemas.kinds import parse
from headrace.schemas.model import Kind


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '"string"',
        '{"type":"strin"}',
        '{"$ref":"#/nowhere"}',
        '{"$ref":"http://localhost/other.json"}',
        '{"$schema":5}',
        '{"properties":{"a":{"$ref":"#missing"}}}',
        "[" * 100_000,
    ],
)
def test_broken(text: str) -> None:
    with pytest.raises(InvalidSchema):
        parse(Kind.JSON, text)


def test_schema_that_is_nothing_but_itself_is_refused() -> None:
    with pytest.raises(InvalidSchema, match="refers to itself"):
        parse(Kind.JSON, '{"$ref":"#"}')


def test_reference_inside_of_data_is_data() -> None:
    parse(Kind.JSON, '{"const":{"$ref":"#/nowhere"}}')


def test_forms_of_the_text() -> None:
    parsed = parse(Kind.JSON, '{ "type": "object",  "$id": "é" }')
    assert parsed.canonical == '{"type":"object","$id":"é"}'
    assert parsed.normalized == '{"$id":"é","type":"object"}'

"""Fields: every one is documented, and a wrong kind is told with what is expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.fields import FIELDS, OPEN_TABLES, Mistakes, read_tables

PAGE = Path(__file__).parents[4] / "docs" / "pipeline.md"


def test_page_has_every_field_and_every_table() -> None:
    text = PAGE.read_text("utf-8")
    fields = [f"`{table}.{name}`" for table, names in FIELDS.items() for name in names]
    tables = [f"`[{table}]`" for table in OPEN_TABLES]
    assert [each for each in [*fields, *tables] if each not in text] == []


def test_options_of_others_are_passed_on_as_text() -> None:
    parsed = {
        "source": {"options": {"a": 1, "b": True, "kafka": {"security": {"protocol": "SSL"}}}},
        "spark": {"spark.x": 0.5},
    }
    tables = read_tables(parsed, Mistakes())
    assert tables["source.options"] == {"a": "1", "b": "true", "kafka.security.protocol": "SSL"}
    assert tables["spark"] == {"spark.x": "0.5"}


@pytest.mark.parametrize(
    ("parsed", "message"),
    [
        ({"job": 5}, "job: expected a table, [job]"),
        ({"sink": {"options": 5}}, "sink.options: expected a table, [sink.options]"),
        ({"spark": {"a": [1]}}, "spark.a: expected text, a number, or true or false"),
        ({"job": {"name": 5}}, 'expected text in quotes, such as "orders" (what the job is'),
        ({"source": {"topic": ["a", 1]}}, "source.topic: expected a list of texts"),
        ({"sink": {"format": ""}}, "expected one of plain"),
        ({"sink": {"path": ""}}, "sink.path: is empty"),
    ],
)
def test_wrong_kinds(parsed: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidDefinition) as raised:
        read_tables(parsed, Mistakes())
    assert message in raised.value.message

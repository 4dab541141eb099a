"""TOML: the line of a field, and text that the parser takes back."""

from __future__ import annotations

import tomllib

import pytest

from headrace.pipeline.jobs.toml_text import maybe_line_of, to_toml

TEXT = """\
[job]
name = "x"  # [sink]

[source.options]
"kafka.x" = 1
[sink]
name = 2
"""


@pytest.mark.parametrize(
    ("table", "key", "line"),
    [
        ("job", "name", 2),
        ("sink", "name", 7),
        ("source.options", "kafka.x", 5),
        ("sink", "path", 6),
        ("spark", "path", None),
        ("job", None, 1),
    ],
)
def test_line_of_a_field_or_of_its_table(table: str, key: str | None, line: int | None) -> None:
    assert maybe_line_of(TEXT, table, key) == line


@pytest.mark.parametrize("value", ['say "hi"\\\n\t\x7f', "a=b # c", "é😀", "", True, 5, 0.5, ["a"]])
def test_values_survive_being_written(value: object) -> None:
    text = to_toml({"a": {"plain": value, "dotted.key": value}, "empty": {}})
    assert tomllib.loads(text) == {"a": {"plain": value, "dotted.key": value}}

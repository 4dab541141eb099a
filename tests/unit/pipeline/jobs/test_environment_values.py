"""Variables in definitions."""

from __future__ import annotations

import pytest

from headrace.pipeline.jobs.environment_values import fill_in
from headrace.pipeline.jobs.errors import InvalidDefinition


def test_variables_are_filled_in_however_deep() -> None:
    value = {"a": {"b": ["${X}-${Y}", 5, True]}, "c": "$${X} $X"}
    filled = fill_in(value, {"X": "1", "Y": "${X}"})
    assert filled == {"a": {"b": ["1-${X}", 5, True]}, "c": "${X} $X"}


@pytest.mark.parametrize(
    ("text", "message"),
    [("${GONE}", "a.b: the environment variable GONE is not set"), ("${1x}", "names no environ")],
)
def test_variables_that_are_none(text: str, message: str) -> None:
    with pytest.raises(InvalidDefinition, match=message):
        fill_in({"a": {"b": text}}, {})

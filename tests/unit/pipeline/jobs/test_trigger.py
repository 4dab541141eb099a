"""How often a job writes."""

from __future__ import annotations

import pytest

from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.trigger import parse_trigger


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("available-now", None),
        ("5 seconds", 5),
        ("250ms", 0.25),
        ("1.5 s", 1.5),
        ("2 minutes", 120),
    ],
)
def test_triggers(text: str, seconds: float | None) -> None:
    assert parse_trigger(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "5", "seconds", "-1 s", "3 days", "25 hours", "1e9 s", "0 s", "99 ms"]
)
def test_texts_that_are_none(text: str) -> None:
    with pytest.raises(InvalidDefinition, match="expected"):
        parse_trigger(text)

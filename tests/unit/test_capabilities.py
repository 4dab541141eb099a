"""docs/capabilities.md names tests: they must exist, and no capability may be missing."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CAPABILITIES = 137
ROW = re.compile(r"\| C(\d+) \| (.+?) \| (.+?) \|$")
NAMED_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def rows() -> list[tuple[int, str]]:
    text = (ROOT / "docs" / "capabilities.md").read_text()
    return [(int(m[1]), m[3]) for line in text.splitlines() if (m := ROW.match(line))]


def test_every_capability_has_exactly_one_row():
    assert [number for number, _ in rows()] == list(range(1, CAPABILITIES + 1))


def test_every_row_names_a_test_or_says_not_yet():
    for number, shown_by in rows():
        assert shown_by == "not yet" or NAMED_TEST.search(shown_by), f"C{number}: {shown_by}"


def test_every_named_test_exists():
    for number, shown_by in rows():
        for path, name in NAMED_TEST.findall(shown_by):
            source = (ROOT / path).read_text()
            assert re.search(rf"def {name}\(", source), f"C{number}: {path}::{name} is not there"

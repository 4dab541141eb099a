"""Tables and JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headrace.cli import output

if TYPE_CHECKING:
    import pytest

ROWS: list[output.Row] = [
    {"name": "orders", "count": 12, "in_sync": [1, 2], "hidden": "x"},
    {"name": "[bold]a", "count": None, "in_sync": True},
]
COLUMNS = ("name", "count", "in_sync")


def test_plain_table_is_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_rows(ROWS, COLUMNS, as_json=False)
    assert capsys.readouterr().out == (
        "NAME     COUNT  IN SYNC\norders   12     1,2\n[bold]a  -      yes\n"
    )


def test_table_on_a_terminal_shows_names_as_they_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    output.print_rows(ROWS, COLUMNS, as_json=False)
    assert "[bold]a" in capsys.readouterr().out


def test_table_without_rows_has_its_head(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_rows([], COLUMNS, as_json=False)
    assert capsys.readouterr().out == "NAME  COUNT  IN SYNC\n"


def test_json_has_all_that_the_rows_have(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_rows(ROWS, COLUMNS, as_json=True)
    assert json.loads(capsys.readouterr().out) == ROWS


def test_pairs_are_lines_or_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_pairs({"a_b": 1, "long": None}, as_json=False)
    output.print_pairs({"a_b": 1}, as_json=True)
    assert capsys.readouterr().out == 'a b   1\nlong  -\n{\n  "a_b": 1\n}\n'


def test_notes_do_not_mix_with_results(capsys: pytest.CaptureFixture[str]) -> None:
    output.note("by the way")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "by the way\n")

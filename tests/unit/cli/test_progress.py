"""The progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.progress import progress

if TYPE_CHECKING:
    import pytest


def test_nothing_is_shown_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("sent", 10, wanted=True) as advance:
        advance(10)
    assert capsys.readouterr().err == ""


def test_bar_is_shown_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress("sent", 10, wanted=True) as advance:
        advance(10)
    assert "10/10" in capsys.readouterr().err
    with progress("sent", 10, wanted=False) as advance:
        advance(10)
    assert capsys.readouterr().err == ""

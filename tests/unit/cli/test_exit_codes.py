"""Exit codes: each has a meaning, and the documentation lists them all."""

from __future__ import annotations

from pathlib import Path

from headrace.cli.exit_codes import MEANINGS, ExitCode, Failure

DOCUMENT = Path(__file__).parents[3] / "docs" / "cli.md"


def test_every_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(ExitCode)


def test_documentation_lists_every_code() -> None:
    text = DOCUMENT.read_text()
    assert all(f"| {code.value} | {meaning} |" in text for code, meaning in MEANINGS.items())


def test_failure_carries_its_code() -> None:
    assert Failure("x", ExitCode.NOT_FOUND).code == 4
    assert Failure("x").code is ExitCode.FAILED

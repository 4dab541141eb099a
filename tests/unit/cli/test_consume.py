"""Options of ``headrace consume`` that contradict each other."""

from __future__ import annotations

import pytest

from headrace.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from-beginning", "--from-offset", "1"], "pass one of --from-beginning"),
        (["--group", "g", "--from-offset", "1"], "reset-offsets"),
        (["--group", "g", "--partition", "0"], "leave out --partition"),
        (["--group", "g", "--at-end"], "use --count or --idle"),
        (["--from-time", "tomorrow"], "expected a time such as"),
    ],
)
def test_contradictions_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["consume", "t", *arguments]) == 2
    assert message in capsys.readouterr().err

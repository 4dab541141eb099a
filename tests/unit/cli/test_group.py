"""``headrace group``: what is refused before a broker is asked; the rest needs a broker."""

from __future__ import annotations

import pytest

from headrace.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["g"], "--topic"),
        (["g", "--topic", "t"], "pass one of --to-earliest"),
        (["g", "--topic", "t", "--to-earliest", "--to-latest"], "pass one of --to-earliest"),
        (["g", "--topic", "t", "--to-time", "soon"], "expected a time such as"),
    ],
)
def test_mistakes_are_status_two(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["group", "reset-offsets", *arguments]) == 2
    assert message in capsys.readouterr().err

"""``headrace acl``: what is refused before a broker is asked; the rest needs a broker."""

from __future__ import annotations

import pytest

from headrace.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "--topic", "t"], "--allow-principal"),
        (["create", "--allow-principal", "User:a"], "pass --topic"),
        (["create", "--allow-principal", "alice", "--topic", "t"], "for example User:alice"),
        (
            ["create", "--allow-principal", "User:a", "--topic", "t", "--operation", "reed"],
            "there is no operation 'reed'",
        ),
        (
            ["create", "--allow-principal", "User:a", "--producer", "-o", "read", "-t", "t"],
            "themselves",
        ),
        (["delete"], "say which rules"),
        (["delete", "--operation", "read"], "say which rules"),
        (["list", "--pattern", "fuzzy"], "fuzzy"),
    ],
)
def test_mistakes_are_status_two(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["acl", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["acl", "create", "--help"]) == 0
    assert "headrace acl create --allow-principal User:alice" in capsys.readouterr().out

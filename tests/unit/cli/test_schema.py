"""``headrace schema``: what is refused before a registry is asked; the rest needs one."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from headrace.cli.exit_codes import ExitCode
from headrace.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["register", "s", "schema.txt"], "say its kind with --type"),
        (["register", "s", "s.avsc", "--type", "xml"], "say its kind with --type"),
        (
            ["check", "s", "-", "--type", "avro", "--reference", "x"],
            "expected NAME=SUBJECT:VERSION",
        ),
        (["list", "--registry", "ftp://host"], "expected http://HOST:PORT"),
    ],
)
def test_mistakes_are_status_two(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('"int"'))
    assert main(["schema", *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "none.avsc")
    assert main(["schema", "register", "s", missing]) == ExitCode.NOT_FOUND
    assert "there is no file" in capsys.readouterr().err


def test_every_verb_shows_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("list", "show", "register", "check", "delete"):
        assert main(["schema", verb, "--help"]) == ExitCode.OK
        assert f"headrace schema {verb} " in capsys.readouterr().out

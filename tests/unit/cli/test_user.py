"""``headrace user``: where passwords come from, and what is refused before a broker is asked."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pytest

from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.main import main
from headrace.cli.user import NUMBERS, PASSWORD_BYTES_MAX, Mechanism, _password

if TYPE_CHECKING:
    from pathlib import Path


def test_mechanisms_have_the_numbers_of_kafka() -> None:
    assert {Mechanism.sha_256: 1, Mechanism.sha_512: 2} == NUMBERS


@pytest.mark.parametrize("content", [b"s3cret", b"s3cret\n", b"s3cret\r\nsecond line\n"])
def test_password_is_the_first_line_of_the_file(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "password"
    file.write_bytes(content)
    assert _password(str(file)) == b"s3cret"


def test_password_keeps_its_spaces(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_bytes("  grün \n".encode())
    assert _password(str(file)) == "  grün ".encode()


def test_password_comes_from_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"typed\n")))
    assert _password("-") == b"typed"


@pytest.mark.parametrize("content", [b"", b"\n", b"x" * (PASSWORD_BYTES_MAX + 1)])
def test_password_that_is_empty_or_endless_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "password"
    file.write_bytes(content)
    with pytest.raises(Failure) as refused:
        _password(str(file))
    assert refused.value.code is ExitCode.USAGE


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["add"], 2, "name"),
        (["add", "alice"], 2, "--password-file"),
        (["add", "alice", "--iterations", "10", "--password-file", "-"], 2, "iterations"),
        (["add", "alice", "--mechanism", "PLAIN", "--password-file", "-"], 2, "PLAIN"),
        (["add", "alice", "--password-file", "not/there"], 4, "cannot read not/there"),
    ],
)
def test_mistakes_are_told(
    arguments: list[str],
    status: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert main(["user", *arguments]) == status
    assert message.lower() in capsys.readouterr().err.lower()

"""The command as a whole: help, statuses, and what is not imported."""

from __future__ import annotations

import subprocess
import sys
from typing import NoReturn

import pytest

from headrace.cli import main as command
from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.main import main
from headrace.model.errors import DirectoryLocked, InvalidConfig, PackageNotInstalled

VERBS = ["serve", "topic", "group", "produce", "consume", "config", "log", "doctor"]


def raising(error: BaseException) -> object:
    def app(**_: object) -> NoReturn:
        raise error

    return app


def test_help_names_all_verbs_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert all(f" {verb} " in printed for verb in VERBS)
    assert "3 no broker answers at the address" in printed


@pytest.mark.parametrize("verb", ["serve", "produce", "consume", "topic create", "config explain"])
def test_help_of_verbs_has_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*verb.split(), "--help"]) == 0
    assert f"  headrace {verb}" in capsys.readouterr().out


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("headrace ")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Failure("gone", ExitCode.NOT_FOUND), 4),
        (InvalidConfig("gone"), 2),
        (DirectoryLocked("gone"), 1),
        (PackageNotInstalled("this", "what is gone", "extra"), 6),
        (RuntimeError("gone"), 1),
    ],
)
def test_errors_are_one_line_and_a_status(
    error: BaseException,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(command, "app_of", lambda verbs: raising(error))
    assert main([]) == code
    printed = capsys.readouterr().err
    assert "gone" in printed
    assert printed.startswith("headrace: ")
    assert printed.count("\n") == 1


def test_pipe_that_was_closed_is_silent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "app_of", lambda verbs: raising(SystemExit(1)))
    assert main([]) == 1
    assert capsys.readouterr().err == ""


def test_interrupt_has_the_shells_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "app_of", lambda verbs: raising(KeyboardInterrupt()))
    assert main([]) == 130


def test_fault_of_our_own_is_shown_in_full_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "app_of", lambda verbs: raising(RuntimeError("ours")))
    monkeypatch.setenv(command.TRACEBACK_VARIABLE, "1")
    with pytest.raises(RuntimeError, match="ours"):
        main([])


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["topic", "create"], ["consume", "t", "--count", "0"]]
)
def test_wrong_usage_points_to_help(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert "--help" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        (
            "from headrace.cli.main import main; main(['--help'])",
            ["confluent_kafka", "rich", "prometheus_client", "starlette", "uvloop"],
        ),
        (
            "import headrace.cli.main, headrace.server.launcher",
            ["confluent_kafka", "rich", "starlette", "uvicorn"],
        ),
        (
            "from headrace.cli.main import app_of; app_of(['serve'])",
            ["headrace.cli.topic", "headrace.cli.schema", "urllib.request", "http.client"],
        ),
    ],
    ids=["help", "serve", "verbs"],
)
def test_heavy_libraries_are_imported_only_when_needed(code: str, unwanted: list[str]) -> None:
    report = f"import sys; sys.exit(str([name for name in {unwanted} if name in sys.modules]))"
    result = subprocess.run(
        [sys.executable, "-c", f"{code}; {report}"], capture_output=True, text=True
    )
    assert result.stderr.strip() == "[]"

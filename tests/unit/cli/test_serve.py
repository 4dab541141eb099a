"""``headrace serve``: settings reach the launcher, mistakes do not."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from headrace.cli.main import main
from headrace.cli.serve import announce

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config.serve import ServeSettings


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[ServeSettings]:
    """What the launcher was called with; it does nothing and ends with 7."""
    calls: list[ServeSettings] = []

    def run(settings: ServeSettings, announce: object) -> int:
        calls.append(settings)
        return 7

    launcher = ModuleType("headrace.server.launcher")
    launcher.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "headrace.server.launcher", launcher)
    monkeypatch.setattr("headrace.config.logging_setup.configure_logging", lambda *_: None)
    return calls


def test_flags_win_over_environment_and_file(
    started: list[ServeSettings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "headrace.toml"
    file.write_text('data = "from-file"\n"num.partitions" = 2\n"log.retention.ms" = 5\n')
    monkeypatch.setenv("HEADRACE_NUM_PARTITIONS", "3")
    arguments = ["--config", str(file), "--data", "from-flag", "--set", "message.max.bytes=9"]
    assert main(["serve", *arguments, "--listen", "kafka://127.0.0.1:0"]) == 7
    (settings,) = started
    assert settings.data_directory == "from-flag"
    assert settings.broker_settings == {
        "num.partitions": "3",
        "log.retention.ms": "5",
        "message.max.bytes": "9",
        "log.dirs": "from-flag",
    }
    assert [listener.url() for listener in settings.listeners] == ["kafka://127.0.0.1:0"]


def test_logging_flags_reach_the_settings(started: list[ServeSettings]) -> None:
    assert main(["serve", "--log-format", "json", "--log-level", "debug"]) == 7
    assert (started[0].log_format, started[0].log_level) == ("json", "debug")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--listen", "kafka://0.0.0.0:9092?advertise=h:1"], "--allow-remote"),
        (["--set", "num.partition=1"], "did you mean num.partitions?"),
        (["--set", "num.partitions=0"], "num.partitions=0: expected a whole number"),
        (["--config", "/nowhere/x.toml"], "cannot read /nowhere/x.toml"),
        (["--log-level", "loud"], "one of debug, info, warning, error"),
        (["--nonsense"], "see: headrace serve --help"),
    ],
)
def test_mistakes_are_one_line_and_status_two(
    started: list[ServeSettings],
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["serve", *arguments]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1
    assert started == []


def test_consent_opens_remote_listeners(started: list[ServeSettings]) -> None:
    url = "kafka://0.0.0.0:9092?advertise=h:1"
    assert main(["serve", "--listen", url, "--allow-remote"]) == 7
    assert started[0].listeners[0].advertised(9092) == ("h", 1)


def test_announcement_names_listeners_first_and_what_to_type_next(
    capsys: pytest.CaptureFixture[str],
) -> None:
    announce(["kafka://127.0.0.1:19092", "http://127.0.0.1:8080"], "data")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["listening kafka://127.0.0.1:19092", "listening http://127.0.0.1:8080"]
    assert "produce greetings hello --bootstrap 127.0.0.1:19092" in lines[3]

"""``headrace config``."""

from __future__ import annotations

import json

import pytest

from headrace.cli.main import main


def test_explain_prints_one_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "explain", "retention.ms"]) == 0
    printed = capsys.readouterr().out
    assert "How long records are kept; -1 for ever." in printed
    assert "a whole number of milliseconds >= -1" in printed


def test_explain_lists_all_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "explain", "--json"]) == 0
    names = {row["name"] for row in json.loads(capsys.readouterr().out)}
    assert {"retention.ms", "log.retention.ms", "listen"} <= names


def test_explain_of_an_unknown_option_names_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["config", "explain", "retention.msec"]) == 2
    assert "did you mean retention.ms?" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--topic", "t", "--broker", "1"]])
def test_one_resource_must_be_named(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "get", *arguments]) == 2
    assert "pass --topic NAME or --broker ID" in capsys.readouterr().err

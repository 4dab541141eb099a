"""Options that verbs share."""

from __future__ import annotations

from typing import get_args

from headrace.cli import options


def test_bootstrap_can_come_from_the_environment() -> None:
    declared = get_args(options.Bootstrap)[1]
    assert declared.envvar == "HEADRACE_BOOTSTRAP"
    assert options.DEFAULT_BOOTSTRAP == "127.0.0.1:9092"

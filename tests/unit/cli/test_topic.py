"""``headrace topic``: what is refused before a broker is asked; the rest needs a broker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.cli.client import Broker
from headrace.cli.main import main
from headrace.cli.topic import offset_ranges

from .fakes import answered


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["alter", "t"], "nothing to change"),
        (["alter", "t", "--config", "x"], "--config x: expected NAME=VALUE"),
        (["create", "t", "--partitions", "0"], "--partitions"),
    ],
)
def test_mistakes_are_status_two(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["topic", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_offset_ranges_ask_for_both_ends() -> None:
    def list_offsets(wanted: dict[Any, Any]) -> dict[Any, Any]:
        return {
            place: answered(SimpleNamespace(offset=10 * place.partition + len(wanted)))
            for place in wanted
        }

    admin: Any = SimpleNamespace(list_offsets=list_offsets)
    first, end = offset_ranges(Broker("b:1", [], 1), admin, "t", [0, 1])
    assert first == end == {0: 2, 1: 12}

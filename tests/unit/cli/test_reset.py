"""Where a reset moves a group to."""

from __future__ import annotations

import pytest

from headrace.cli.exit_codes import Failure
from headrace.cli.reset import Target, aim, parse_selection


@pytest.mark.parametrize(
    ("target", "at_time", "committed", "expected"),
    [
        (Target(earliest=True), None, 7, 5),
        (Target(latest=True), None, 7, 20),
        (Target(offset=0), None, 7, 0),
        (Target(shift_by=-3), None, 7, 4),
        (Target(shift_by=3), None, None, 8),
        (Target(time_ms=1), 11, 7, 11),
        (Target(time_ms=1), -1, 7, 20),
        (Target(time_ms=1), None, 7, 20),
    ],
)
def test_aim(target: Target, at_time: int | None, committed: int | None, expected: int) -> None:
    assert aim(target, 5, 20, at_time, committed) == expected


@pytest.mark.parametrize("target", [Target(), Target(earliest=True, latest=True), Target(offset=0)])
def test_exactly_one_target_must_be_given(target: Target) -> None:
    if target == Target(offset=0):
        target.raise_if_unclear()
        return
    with pytest.raises(Failure, match="pass one of --to-earliest"):
        target.raise_if_unclear()


def test_selection_names_topics_and_partitions() -> None:
    assert parse_selection(["a", "b:0,2", "b:1"]) == {"a": None, "b": {0, 1, 2}}
    with pytest.raises(Failure, match="expected TOPIC:0,1"):
        parse_selection(["a:x"])

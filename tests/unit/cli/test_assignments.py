"""NAME=VALUE arguments."""

from __future__ import annotations

import pytest

from headrace.cli.assignments import parse_assignments
from headrace.cli.exit_codes import ExitCode, Failure


def test_values_may_hold_equals_signs_and_be_empty() -> None:
    assert parse_assignments(["a=b=c", "d="], "-X") == {"a": "b=c", "d": ""}


@pytest.mark.parametrize("argument", ["a", "=b", " =b"])
def test_other_arguments_are_refused(argument: str) -> None:
    with pytest.raises(Failure, match=r"-X .*expected NAME=VALUE") as refused:
        parse_assignments([argument], "-X")
    assert refused.value.code is ExitCode.USAGE

"""``NAME=VALUE`` arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.exit_codes import ExitCode, Failure

if TYPE_CHECKING:
    from collections.abc import Sequence


def parse_assignments(arguments: Sequence[str], flag: str) -> dict[str, str]:
    """Names and values in the order given; ``flag`` is for the error message."""
    parsed: dict[str, str] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or not name.strip():
            raise Failure(f"{flag} {argument}: expected NAME=VALUE", ExitCode.USAGE)
        parsed[name.strip()] = value
    return parsed

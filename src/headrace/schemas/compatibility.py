"""The seven levels of compatibility, whatever the kind of schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.schemas.model import Compatibility, ParsedSchema


def incompatibilities(
    candidate: ParsedSchema, earlier: Sequence[ParsedSchema], level: Compatibility
) -> list[str]:
    """Why ``candidate`` may not follow ``earlier`` (oldest first); empty if it may."""
    compared = earlier if level.is_transitive else earlier[-1:]
    problems: list[str] = []
    for previous in reversed(compared):
        try:
            if level.is_backward:
                problems += candidate.problems_reading(previous)
            if level.is_forward:
                problems += previous.problems_reading(candidate)
        except RecursionError:
            problems.append("the schemas are nested too deeply to be compared")
        if problems:
            break
    return problems

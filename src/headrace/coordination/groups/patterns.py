"""Topic patterns that clients subscribe with (KIP-848), matched by RE2.

RE2 runs in time linear in its input and takes bounded memory, so a pattern from a client cannot
hang the broker. A pattern must match the whole topic name.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, cast

import re2

from headrace.model.errors import InvalidRegularExpression

if TYPE_CHECKING:
    from collections.abc import Iterable

PATTERN_BYTES_MAX = 4_096
PATTERN_MEMORY_BYTES_MAX = 1 << 20
"""What one compiled pattern may take; RE2 refuses patterns that need more."""
COMPILED_PATTERNS_MAX = 256


class CompiledPattern(Protocol):
    def fullmatch(self, text: str) -> object | None: ...


def raise_if_invalid_pattern(pattern: str) -> None:
    """Raise InvalidRegularExpression unless the pattern can be matched."""
    _compile(pattern)


def matching_topics(pattern: str, names: Iterable[str]) -> frozenset[str]:
    """The names that the pattern matches from end to end."""
    fullmatch = _compile(pattern).fullmatch
    return frozenset(name for name in names if fullmatch(name))


@lru_cache(COMPILED_PATTERNS_MAX)
def _compile(pattern: str) -> CompiledPattern:
    if len(pattern.encode()) > PATTERN_BYTES_MAX:
        raise InvalidRegularExpression(f"the pattern is longer than {PATTERN_BYTES_MAX} bytes")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = PATTERN_MEMORY_BYTES_MAX
    try:
        return cast("CompiledPattern", re2.compile(pattern, options))
    except re2.error as error:
        reason = error.args[0] if error.args else error
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise InvalidRegularExpression(f"the pattern {pattern!r} is not valid: {text}") from error

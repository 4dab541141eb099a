"""How often a job writes: ``available-now``, or a time such as ``5 seconds``."""

from __future__ import annotations

import re

from headrace.pipeline.jobs.errors import InvalidDefinition

AVAILABLE_NOW = "available-now"
SECONDS_MIN = 0.1
"""More often would only keep the broker busy with questions."""
SECONDS_MAX = 86_400.0

_TIME = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)\s*([a-z]+)")
_UNITS = {
    "ms": 0.001,
    "milliseconds": 0.001,
    "s": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "minute": 60.0,
    "minutes": 60.0,
    "hour": 3600.0,
    "hours": 3600.0,
}


def parse_trigger(text: str) -> float | None:
    """Seconds between batches; None for ``available-now``."""
    if text == AVAILABLE_NOW:
        return None
    found = _TIME.fullmatch(text.strip())
    unit = _UNITS.get(found[2]) if found else None
    if found is None or unit is None:
        raise InvalidDefinition(
            f"{text!r}: expected {AVAILABLE_NOW}, or a time such as 5 seconds or 2 minutes"
        )
    seconds = float(found[1]) * unit
    if not SECONDS_MIN <= seconds <= SECONDS_MAX:
        raise InvalidDefinition(
            f"{text!r}: expected {SECONDS_MIN} to {SECONDS_MAX:.0f} seconds, or {AVAILABLE_NOW}"
        )
    return seconds

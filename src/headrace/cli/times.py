"""Points in time as people write them: ISO 8601, seconds or milliseconds since 1970, ``-15m``."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from headrace.cli.exit_codes import ExitCode, Failure

_AGO = re.compile(r"-(\d{1,9})(ms|s|m|h|d)\Z")
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DIGITS_OF_MILLISECONDS = 12
_DIGITS_MAX = 15


def parse_time_ms(text: str, now_ms: int) -> int:
    """Milliseconds since 1970; a time without a zone is UTC. Failure if it cannot be read."""
    ago = _AGO.match(text)
    if ago:
        return now_ms - int(ago[1]) * _UNIT_MS[ago[2]]
    if text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX:
        number = int(text)
        return number if len(text) >= _DIGITS_OF_MILLISECONDS else number * 1_000
    try:
        moment = datetime.fromisoformat(text)
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return round(aware.timestamp() * 1_000)
    except (ValueError, OverflowError) as error:
        raise Failure(
            f"{text}: expected a time such as 2026-01-31T12:00:00Z, 1769860800, or -15m",
            ExitCode.USAGE,
        ) from error


def format_time_ms(timestamp_ms: int) -> str | None:
    """ISO 8601 in UTC; None for a record without a timestamp."""
    if timestamp_ms < 0:
        return None
    moment = datetime.fromtimestamp(timestamp_ms / 1_000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

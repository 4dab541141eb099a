"""Keeps a client that tries again and again from filling the log: its first failure is told, then
one in a while, with how many were left out. No clock in here."""

from __future__ import annotations

from collections import OrderedDict

INTERVAL_SECONDS = 10.0
KINDS_MAX = 1_000


class WarningLimit:
    """What has been told lately, and how often it happened since."""

    def __init__(self) -> None:
        self._told: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def maybe_count(self, kind: str, now: float) -> int | None:
        """How many like this were left out since the last that was told; None to leave it out."""
        told_at, left_out = self._told.get(kind, (float("-inf"), 0))
        if now - told_at < INTERVAL_SECONDS:
            self._told[kind] = (told_at, left_out + 1)
            return None
        self._told[kind] = (now, 0)
        self._told.move_to_end(kind)
        if len(self._told) > KINDS_MAX:
            self._told.popitem(last=False)
        return left_out

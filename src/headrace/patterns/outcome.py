"""What became of a message: it had its effect now, or it had it before."""

from __future__ import annotations

from enum import Enum


class Outcome(Enum):
    """The answer of every idempotent operation; both are a success."""

    APPLIED = "applied"
    DUPLICATE = "duplicate"

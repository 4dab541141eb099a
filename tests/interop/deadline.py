"""Waiting without blind sleeps: poll a condition until it holds or a deadline passes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

POLL_INTERVAL_S = 0.02


class DeadlinePassed(AssertionError):
    """The condition did not come true in time."""


def wait_until(
    condition: Callable[[], bool],
    what: str,
    timeout_s: float,
    describe: Callable[[], object] = lambda: "",
    interval_s: float = POLL_INTERVAL_S,
) -> None:
    """Call `condition` until it is true; `describe` tells the last state when it never is."""
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline_s:
            raise DeadlinePassed(f"{what}: not within {timeout_s:g} s. {describe()}")
        time.sleep(interval_s)

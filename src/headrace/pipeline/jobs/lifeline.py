"""A child that never outlives its parent: it reads from a pipe that only the parent can write to.

When the parent ends, however it ends, the kernel closes the pipe, and the child sees its end. This
works where a death signal does not: on other systems, and when the parent's thread ends before the
parent.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

STOP_SECONDS_MAX = 30.0
"""How long a clean stop may take once the parent is gone."""
EXIT_ABANDONED = 1
READ_BYTES = 64 * 2**10
LINE_BYTES_MAX = 4 * 2**20


def watch_lifeline(
    descriptor: int,
    stop: threading.Event,
    on_line: Callable[[bytes], None] | None = None,
    *,
    stop_seconds_max: float = STOP_SECONDS_MAX,
) -> threading.Thread:
    """Set ``stop`` at the end of the pipe; end the process if it is still there some time later.

    What the parent writes meanwhile goes to ``on_line``.
    """

    def watch() -> None:
        _read_lines(descriptor, on_line)
        stop.set()
        # A daemon thread: if the process ends in time, this wait ends with it.
        threading.Event().wait(stop_seconds_max)
        os._exit(EXIT_ABANDONED)

    thread = threading.Thread(target=watch, name="headrace-lifeline", daemon=True)
    thread.start()
    return thread


def _read_lines(descriptor: int, on_line: Callable[[bytes], None] | None) -> None:
    # Not sys.stdin: its buffer has a lock, and an interpreter that ends while a thread waits in
    # there aborts.
    unfinished = b""
    while data := os.read(descriptor, READ_BYTES):
        *lines, unfinished = (unfinished + data).split(b"\n")
        for line in lines:
            if on_line is not None:
                on_line(line)
        if len(unfinished) > LINE_BYTES_MAX:
            return

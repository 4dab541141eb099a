"""Which process is meant: a pid alone is not enough, since numbers are used again.

A process is named by its pid, the time at which it was started and the boot of the machine. Where
the system does not tell the start time (there is no ``/proc``), the pid alone must do.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_START_TIME_FIELD = 22
"""Of /proc/PID/stat, counted from 1."""
_PROC = Path("/proc")


class ProcessIdentity(NamedTuple):
    """One process, and no later one of the same number."""

    pid: int
    started: str
    """Ticks after the boot; empty where unknown."""
    boot: str

    def is_alive(self) -> bool:
        return maybe_identity(self.pid) == self


def own_identity() -> ProcessIdentity:
    found = maybe_identity(os.getpid())
    assert found is not None, "this process runs"
    return found


def maybe_identity(pid: int) -> ProcessIdentity | None:
    """Of a running process; None if there is none of this number, or only its remains."""
    if _PROC.is_dir():
        return _from_proc(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return ProcessIdentity(pid, "", "")
    return ProcessIdentity(pid, "", "")


def _from_proc(pid: int) -> ProcessIdentity | None:
    try:
        stat = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name stands in parentheses and may hold anything, a parenthesis too.
    state, *rest = stat.rpartition(")")[2].split()
    if state in ("Z", "X"):
        return None
    return ProcessIdentity(pid, rest[_START_TIME_FIELD - 4], _boot_id())


def _boot_id() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""

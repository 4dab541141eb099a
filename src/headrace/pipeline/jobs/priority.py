"""Making way for others where processors are scarce."""

from __future__ import annotations

import ctypes
import logging
import os
import platform
import re
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

log = logging.getLogger(__name__)

TABLES_NICENESS = 10
"""Of the jobs of table topics: clients of the broker come first, and the tables a little later."""
TASK_ATTEMPTS = 4
AUTOGROUP = Path("/proc/self/autogroup")

TURN_NS = 100_000
"""The shortest that Linux grants."""
_SCHED_SETATTR_NUMBERS = {"x86_64": 314, "aarch64": 274}
_SCHED_OTHER = 0
_SCHED_ATTRIBUTES = struct.Struct("=IIQiIQQQ")
"""Size, policy, flags, niceness, priority, runtime, deadline, period: ``struct sched_attr``."""


def lower_priority(niceness: int, autogroup: Path = AUTOGROUP) -> None:
    """Of this process, and of Java and all workers, which inherit it.

    Linux may share processors between sessions before it looks at processes; niceness then counts
    only among those of one session. So a session of our own gets it as well.
    """
    os.nice(niceness)
    take_short_turns()
    if os.getsid(0) == os.getpid():
        try:
            autogroup.write_text(str(niceness))
        except OSError as error:  # a kernel that does not do so, or not now
            log.info("the session keeps its share of the processors: %s", error)


def take_short_turns() -> None:
    """Of the thread that calls, and of all that it starts.

    Niceness is a share, not a rank: whoever runs is left alone for his turn, some milliseconds,
    also if it is the broker that wakes up. So our turns are as short as they can be. Linux does so
    since 6.12; an older one takes note of nothing.
    """
    number = _SCHED_SETATTR_NUMBERS.get(platform.machine())
    if number is None or platform.system() != "Linux":
        return
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    attributes = _SCHED_ATTRIBUTES.pack(
        _SCHED_ATTRIBUTES.size, _SCHED_OTHER, 0, niceness, 0, TURN_NS, 0, 0
    )
    if ctypes.CDLL(None, use_errno=True).syscall(number, 0, attributes, 0):
        reason = os.strerror(ctypes.get_errno())
        log.info("turns on the processors stay as long as they are: %s", reason)


def keep_to_half_of_the_cores() -> int:
    """This thread, and all that it starts; how many cores that are.

    Java's collector and compiler are threads as well, and a broker that wakes up beside a busy core
    and an idle one is put on the idle one. Only where it may go anywhere can a job be everywhere.
    """
    if sys.platform != "linux":
        return max(1, (os.cpu_count() or 1) // 2)
    half = last_half(os.sched_getaffinity(0))
    os.sched_setaffinity(0, half)
    return len(half)


def last_half(cores: Collection[int], core_of: Callable[[int], int] | None = None) -> list[int]:
    """Rounded down, but one at least. Threads of one core stay together, on either side."""
    ordered = sorted(cores, key=lambda cpu: ((core_of or _core_of)(cpu), cpu))
    return ordered[-max(1, len(ordered) // 2) :]


def _core_of(cpu: int) -> int:
    """The first of the threads that share its core; itself where the system does not tell."""
    try:
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        return int(re.split("[-,]", siblings.read_text())[0])
    except (OSError, ValueError):
        return cpu


def make_way(master: str | None, niceness: int = TABLES_NICENESS) -> str:
    """Before Spark is started for table topics; its master, which is ours to choose where none is
    given: half of the cores. One writes millions of rows a second.
    """
    lower_priority(niceness)
    return master or f"local[{keep_to_half_of_the_cores()},{TASK_ATTEMPTS}]"

"""Making way for others where processors are scarce."""

from __future__ import annotations

import logging
import os
from pathlib import Path

log = logging.getLogger(__name__)

TABLES_NICENESS = 10
"""Of the jobs of table topics: clients of the broker come first, and the tables a little later."""
TASK_ATTEMPTS = 4
AUTOGROUP = Path("/proc/self/autogroup")


def lower_priority(niceness: int, autogroup: Path = AUTOGROUP) -> None:
    """Of this process, and of Java and all workers, which inherit it.

    Linux may share processors between sessions before it looks at processes; niceness then counts
    only among those of one session. So a session of our own gets it as well.
    """
    os.nice(niceness)
    if os.getsid(0) == os.getpid():
        try:
            autogroup.write_text(str(niceness))
        except OSError as error:  # a kernel that does not do so, or not now
            log.info("the session keeps its share of the processors: %s", error)


def tables_master(cores: int | None = None) -> str:
    """Spark's master for the jobs of table topics: half of the cores, so that the broker always has
    one to itself. A single one writes millions of rows a second.
    """
    count = cores or len(os.sched_getaffinity(0))
    return f"local[{max(1, count // 2)},{TASK_ATTEMPTS}]"

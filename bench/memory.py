"""Memory as a machine has it that has run for a while: full of page cache, every page used before.

A virtual machine pays its host for each page that it touches for the first time, and gives back
what lies idle: to write a page of a new file took 16 us on one such machine, and 1 us where the
page had just been used for something else. Neither is the broker's doing, but it is most of what
is measured. So before each round that writes much the page cache is turned over: the hole of a
sparse file is read, which takes pages, but nothing from the disk.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

GIB = 2**30
TURNED_OVER_BYTES_MIN = 4 * GIB
"""More than a round writes."""

TURNED_OVER_BYTES_MAX = 24 * GIB
"""A large machine must not be kept waiting for all that it has."""

READ_BYTES = 4 * 2**20


class PageCache:
    """Turns the page cache over."""

    def __init__(
        self,
        directory: Path,
        free_bytes: Callable[[], int] | None = None,
        least_bytes: int = TURNED_OVER_BYTES_MIN,
        most_bytes: int = TURNED_OVER_BYTES_MAX,
    ) -> None:
        self._free_bytes = free_bytes or free_memory_bytes
        self._least_bytes = least_bytes
        self._most_bytes = most_bytes
        self._buffer = bytearray(READ_BYTES)
        # It has to stay: pages of a file that is gone are idle, and go back to the host.
        self._hole = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115
        self._end = 0

    def turn_over(self) -> int:
        """Touch as much as is free, but no less than a round will write; how much it was."""
        wanted = min(self._most_bytes, max(self._least_bytes, self._free_bytes()))
        descriptor = self._hole.fileno()
        begin, self._end = self._end, self._end + wanted
        os.truncate(descriptor, self._end)
        return sum(
            os.preadv(descriptor, [self._buffer], position)
            for position in range(begin, self._end, READ_BYTES)
        )

    def close(self) -> None:
        self._hole.close()


def free_memory_bytes() -> int:
    """What is used for nothing, not even as cache."""
    text = Path("/proc/meminfo").read_text()
    match = re.search(r"^MemFree:\s*(\d+) kB", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else 0

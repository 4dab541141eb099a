"""CPU time and memory of a process and all that it has started, as the kernel counts them.

CPU time comes from the clocks of the processes, which count nanoseconds: a broker that has next to
nothing to do for three seconds uses less than a few of the ticks of 10 ms that `ps` shows.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

PROCESSES = Path("/proc")
MEGABYTE = 1_000_000
KIBIBYTE = 1024
LOOK_SECONDS = 0.5
PARENT, CHILDREN_USER_TICKS, CHILDREN_SYSTEM_TICKS = 1, 13, 14
"""Fields of `stat` behind the name of the program."""
SCHEDULER_CLOCK = 2
GONE = (FileNotFoundError, ProcessLookupError)


class Memory(NamedTuple):
    """`resident` has pages of files and of the parent in it, once for each process; `own` not."""

    resident_megabytes: float = 0.0
    own_megabytes: float = 0.0

    def most(self, other: Memory) -> Memory:
        return Memory(*(max(pair) for pair in zip(self, other, strict=True)))


def tree(root: int, parents: Mapping[int, int] | None = None) -> set[int]:
    """The process and all below it, by the parent of each process."""
    parents = parents_of_all() if parents is None else parents
    found, is_growing = {root}, True
    while is_growing:
        more = {pid for pid, parent in parents.items() if parent in found and pid not in found}
        found |= more
        is_growing = bool(more)
    return found


def parents_of_all() -> dict[int, int]:
    parents = {}
    for folder in PROCESSES.iterdir():
        if folder.name.isdecimal():
            with suppress(*GONE):  # ended while we looked
                parents[int(folder.name)] = int(stat_fields(int(folder.name))[PARENT])
    return parents


def stat_fields(pid: int) -> list[bytes]:
    return (PROCESSES / str(pid) / "stat").read_bytes().rsplit(b") ", 1)[1].split()


def cpu_seconds(root: int) -> float:
    """Of the whole tree, of children that have ended too."""
    used = 0.0
    for pid in tree(root):
        with suppress(*GONE):
            used += process_cpu_seconds(pid)
    return used


def process_cpu_seconds(pid: int) -> float:
    fields = stat_fields(pid)
    ticks = int(fields[CHILDREN_USER_TICKS]) + int(fields[CHILDREN_SYSTEM_TICKS])
    try:
        # How the kernel numbers the CPU clocks of processes: see clock_getcpuclockid(3).
        own = time.clock_gettime((~pid << 3) | SCHEDULER_CLOCK)
    except OSError as error:
        raise ProcessLookupError(f"process {pid} has ended") from error
    return own + ticks / os.sysconf("SC_CLK_TCK")


def memory(root: int) -> Memory:
    resident = own = 0
    for pid in tree(root):
        with suppress(*GONE):
            sizes = memory_sizes((PROCESSES / str(pid) / "status").read_text().splitlines())
            resident += sizes.get("VmRSS", 0)
            own += sizes.get("RssAnon", 0)
    return Memory(resident / MEGABYTE, own / MEGABYTE)


def memory_sizes(lines: Iterable[str]) -> dict[str, int]:
    """The bytes that `status` tells, by name."""
    words = [line.split() for line in lines if line.endswith(" kB")]
    return {name.rstrip(":"): int(value) * KIBIBYTE for name, value, _ in words}


class MemoryWatch:
    """The most memory that each of some trees had while the block ran, by looking now and then."""

    def __init__(
        self,
        roots: Mapping[str, int],
        look: Callable[[int], Memory] = memory,
        seconds: float = LOOK_SECONDS,
    ) -> None:
        self.most = dict.fromkeys(roots, Memory())
        self._roots = roots
        self._look = look
        self._seconds = seconds
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._take()

    def _watch(self) -> None:
        while not self._is_over.wait(self._seconds):
            self._take()

    def _take(self) -> None:
        for name, root in self._roots.items():
            self.most[name] = self.most[name].most(self._look(root))

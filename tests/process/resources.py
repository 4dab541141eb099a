"""What a process costs, as the kernel counts it: memory, descriptors, threads and CPU time."""

from __future__ import annotations

import os
from contextlib import suppress

MEGABYTE = 1_000_000


def resident_megabytes(pid: int) -> float:
    with open(f"/proc/{pid}/statm", "rb") as statm:
        pages = int(statm.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


def peak_megabytes(pid: int) -> float:
    """The most memory that was ever resident: a spike between two looks is seen as well."""
    with open(f"/proc/{pid}/status") as status:
        kilobytes = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    return kilobytes * 1024 / MEGABYTE


def open_descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def open_sockets(pid: int) -> int:
    count = 0
    for name in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):  # closed between the two calls
            count += os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:")
    return count


def cpu_seconds(pid: int) -> float:
    with open(f"/proc/{pid}/stat", "rb") as stat:
        fields = stat.read().rsplit(b") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

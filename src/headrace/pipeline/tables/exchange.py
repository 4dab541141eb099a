"""Swap two directories in one step: whoever lists sees the one or the other.

Linux has this since 3.15 (``renameat2`` with ``RENAME_EXCHANGE``), on ext4, xfs, btrfs, tmpfs and
others. Python has no call for it.
"""

from __future__ import annotations

import ctypes
import errno
import os

from headrace.pipeline.tables.errors import CompactionNotPossible

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_NOT_THERE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV}


def exchange(one: str, other: str) -> None:
    """Both must exist, on one file system."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        raise _impossible(one)
    if call(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) != 0:
        number = ctypes.get_errno()
        if number in _NOT_THERE:
            raise _impossible(one)
        raise OSError(number, os.strerror(number), one)


def _impossible(path: str) -> CompactionNotPossible:
    return CompactionNotPossible(
        f"this system cannot swap directories such as {path} in one step, so that readers of the "
        f"directory would see records twice or not at all; compact with the option view=false"
    )

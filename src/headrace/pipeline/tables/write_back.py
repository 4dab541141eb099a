"""Has the system begin to store what was written to a file that is not complete yet.

It says nothing about durability: a commit still waits for each of its files. But by then most of
them are on the medium, and the processors were busy meanwhile. Without it the system begins seconds
later, which is when the commit does.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

SYNC_FILE_RANGE_WRITE = 2
"""Linux, `sync_file_range(2)`: begin to write all that is dirty, and wait for nothing."""
UNABLE = (errno.ESPIPE, errno.EINVAL, errno.ENOSYS)
"""It is no file on a disk, or the system (of a sandbox, say) does not know the call."""


def begin_write_back(stream: pa.NativeFile) -> None:
    """For the whole file as it is; nothing where the system has no call for it. OSError as from a
    write: a full disk is noticed here first.
    """
    maybe_call = _maybe_sync_file_range()
    if maybe_call is None:
        return
    if maybe_call(stream.fileno(), 0, 0, SYNC_FILE_RANGE_WRITE):
        number = ctypes.get_errno()
        if number not in UNABLE:
            raise OSError(number, os.strerror(number))


@cache
def _maybe_sync_file_range() -> Callable[[int, int, int, int], int] | None:
    if sys.platform != "linux":
        return None
    call = getattr(ctypes.CDLL(None, use_errno=True), "sync_file_range", None)
    if call is None:
        return None
    call.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
    call.restype = ctypes.c_int
    found: Callable[[int, int, int, int], int] = call
    return found

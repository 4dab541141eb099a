"""Memory that ends where the data ends: to read one byte further kills the process.

Compiled code does not ask before it reads, and what lies behind a buffer is most often readable. So
a read past the end goes unnoticed, unless the page behind the data may not be touched.
"""

from __future__ import annotations

import ctypes
import mmap
import os

NOT_ACCESSIBLE = 0
"""PROT_NONE of <sys/mman.h>."""

_library = ctypes.CDLL(None, use_errno=True)
_library.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class GuardedMemory:
    """Room for ``size_bytes_max``, used again for each piece of data."""

    def __init__(self, size_bytes_max: int) -> None:
        room_bytes = -(-size_bytes_max // mmap.PAGESIZE) * mmap.PAGESIZE
        memory = mmap.mmap(-1, room_bytes + mmap.PAGESIZE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        if _library.mprotect(address + room_bytes, mmap.PAGESIZE, NOT_ACCESSIBLE):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._room = memoryview(memory)[:room_bytes]

    def holding(self, data: bytes) -> memoryview:
        """The data, right before the forbidden page; valid until the next call."""
        start = len(self._room) - len(data)
        self._room[start:] = data
        return self._room[start:].toreadonly()

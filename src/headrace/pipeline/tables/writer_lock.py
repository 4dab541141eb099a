"""One process writes a local table: an exclusive lock on ``_headrace/writer.lock``.

The lock is there for a quick and clear refusal. What keeps a table right is that commits exclude
each other (see the formats): a table on a shared disk or in an object store has no lock at all.
"""

from __future__ import annotations

import fcntl
import os
import threading
from dataclasses import dataclass, field

from headrace.pipeline.errors import TargetInUse
from headrace.pipeline.tables.errors import refusals_named

LOCK_FILE = "_headrace/writer.lock"


@dataclass
class _Held:
    descriptor: int
    job: str
    holders: int = 1


@dataclass
class _HeldHere:
    """Locks of this process, by path: the kernel's lock would exclude the process from itself."""

    by_path: dict[str, _Held] = field(default_factory=dict)
    guard: threading.Lock = field(default_factory=threading.Lock)


_held_here = _HeldHere()


class WriterLock:
    """Taken at the first write, held until ``release`` or until the process dies."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._path = os.path.realpath(os.path.join(root, LOCK_FILE))
        self._is_held = False

    def acquire(self, job: str) -> None:
        """Does nothing if it is held already; a second table object of the same job shares it."""
        if self._is_held:
            return
        with _held_here.guard:
            held = _held_here.by_path.get(self._path)
            if held is None:
                _held_here.by_path[self._path] = _Held(self._lock(job), job)
            elif held.job == job:
                held.holders += 1
            else:
                raise _in_use(self._root, held.job)
        self._is_held = True

    def release(self) -> None:
        if not self._is_held:
            return
        self._is_held = False
        with _held_here.guard:
            held = _held_here.by_path[self._path]
            held.holders -= 1
            if held.holders == 0:
                os.close(held.descriptor)
                del _held_here.by_path[self._path]

    def _lock(self, job: str) -> int:
        with refusals_named(self._root):
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(descriptor, 1000, 0).decode(errors="replace")
            os.close(descriptor)
            raise _in_use(self._root, holder) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, job.encode(), 0)
        return descriptor


def _in_use(root: str, holder: str) -> TargetInUse:
    return TargetInUse(f"job {holder!r} is writing to {root}; stop it, or choose another target")

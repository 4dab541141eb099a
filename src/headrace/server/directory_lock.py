"""One process per data directory: an exclusive lock on ``<data>/.lock``, as Kafka takes it."""

from __future__ import annotations

import fcntl
import os

from headrace.model.errors import DirectoryLocked, StorageFailure

LOCK_FILE = ".lock"

_held_here: set[str] = set()
"""Record locks do not exclude a process from itself, and closing any descriptor of the file
would drop them: so a process asks its own list first."""


class DirectoryLock:
    """Held until ``release``, or until the process dies, however it dies."""

    def __init__(self, directory: str) -> None:
        path = os.path.join(directory, LOCK_FILE)
        self._key = os.path.realpath(path)
        if self._key in _held_here:
            raise _in_use(directory)
        try:
            os.makedirs(directory, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StorageFailure(
                f"cannot write to the data directory {directory}: {error.strerror}; "
                f"choose another with --data or change its permissions"
            ) from error
        try:
            # A POSIX record lock: the kind that Kafka's own FileChannel.lock takes.
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            raise _in_use(directory) from error
        _held_here.add(self._key)

    def release(self) -> None:
        os.close(self._descriptor)
        _held_here.discard(self._key)


def _in_use(directory: str) -> DirectoryLocked:
    return DirectoryLocked(
        f"another broker uses the data directory {directory}; "
        f"stop it, or choose another directory with --data"
    )

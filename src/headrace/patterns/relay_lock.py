"""One relay at a time per outbox, with a lock that ends when its holder dies.

PostgreSQL: an advisory lock of the session in which the relay also writes, so a relay that lost the
lock has lost its way to the tables too. SQLite: a lock on a file beside the database, which the
kernel drops with the process. A database in memory belongs to one process and needs none.
"""

from __future__ import annotations

import fcntl
import os
import zlib
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from headrace.patterns.conflict import raise_if_unsupported

if TYPE_CHECKING:
    from sqlalchemy import Connection

RELAY_LOCK_SPACE = 0x6872726C


class RelayLock:
    """Held from a successful :meth:`acquire` until :meth:`release` or the end of the process."""

    def __init__(self, connection: Connection, outbox_name: str) -> None:
        raise_if_unsupported(connection.dialect.name)
        self._connection = connection
        self._outbox_name = outbox_name
        self._file: int | None = None
        self._held = False

    def acquire(self) -> bool:
        """True if this relay is now the only one; never waits."""
        if self._connection.dialect.name == "sqlite":
            return self._acquire_file()
        with self._connection.begin():
            lock = func.pg_try_advisory_lock(RELAY_LOCK_SPACE, self._number())
            self._held = bool(self._connection.execute(select(lock)).scalar_one())
        return self._held

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if self._held:
            self._held = False
            with self._connection.begin():
                unlock = func.pg_advisory_unlock(RELAY_LOCK_SPACE, self._number())
                self._connection.execute(select(unlock))

    def _number(self) -> int:
        return zlib.crc32(self._outbox_name.encode()) - (1 << 31)

    def _acquire_file(self) -> bool:
        database = self._connection.engine.url.database
        if not database or database == ":memory:":
            return True
        file = os.open(f"{database}.{self._outbox_name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        self._file = file
        return True

"""New certificates without a restart: a timer looks whether the files have changed.

Connections that are open stay as they are. Files that are not good are told of once, and the
certificate in use stays.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from headrace.model.errors import InvalidConfig

if TYPE_CHECKING:
    import asyncio

    from headrace.security.tls_context import ListenerTls

log = logging.getLogger(__name__)

_Signature = tuple[tuple[int, int, int] | None, ...]


class TlsReload:
    """Watches the files of one listener."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, tls: ListenerTls, interval_seconds: float
    ) -> None:
        self._loop = loop
        self._tls = tls
        self._interval_seconds = interval_seconds
        self._seen = self._look()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._timer = self._loop.call_later(self._interval_seconds, self._on_time)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def reload_if_changed(self) -> bool:
        """Whether new files are in use now."""
        found = self._look()
        if found == self._seen:
            return False
        self._seen = found
        try:
            self._tls.reload()
        except InvalidConfig as error:
            log.warning("new certificate files are not used, the old stay: %s", error.message)
            return False
        log.info("new certificate files are in use: %s", ", ".join(self._tls.paths))
        return True

    def _on_time(self) -> None:
        self.reload_if_changed()
        self.start()

    def _look(self) -> _Signature:
        return tuple(_signature(path) for path in self._tls.paths)


def _signature(path: str) -> tuple[int, int, int] | None:
    """Changes with the file, also where a link is turned to another one."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns

"""When to kill: at any time, or at a moment in which the files are in the middle of something."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.interop.broker_process import BrokerProcess

LOOK_SECONDS = 0.001
WAIT_SECONDS_MAX = 1.0
"""A moment that does not come by then is left for another cycle."""
START_SECONDS_MAX = 10.0


class Moment(Enum):
    """The value is what a person reads."""

    ANY = "any time"
    ROLL = "right after a roll"
    COMPACTION = "during compaction"
    DELETION = "while old segments are deleted"
    RECOVERY = "during recovery"


class FileWatch:
    """Waits for what a moment looks like in the directories of some topics."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def wait_for_roll(self, topic: str) -> bool:
        before = self._names(topic, ".log")
        return self._wait(lambda: bool(self._names(topic, ".log") - before))

    def wait_for_compaction(self, topic: str) -> bool:
        return self._wait(lambda: bool(self._names(topic, ".cleaned", ".swap")))

    def wait_for_deletion(self, topic: str) -> bool:
        before = self._names(topic, ".deleted")
        return self._wait(lambda: bool(self._names(topic, ".deleted") - before))

    def _names(self, topic: str, *endings: str) -> set[str]:
        found: set[str] = set()
        for folder in self._directory.glob(f"{topic}-[0-9]*"):
            with suppress(FileNotFoundError):
                found |= {
                    f"{folder.name}/{name}" for name in os.listdir(folder) if name.endswith(endings)
                }
        return found

    def _wait(self, condition: Callable[[], bool]) -> bool:
        deadline_s = time.monotonic() + WAIT_SECONDS_MAX
        while not condition():
            if time.monotonic() > deadline_s:
                return False
            time.sleep(LOOK_SECONDS)
        return True


class RecoveryWatch:
    """Knows when a starting broker is at the files, and how long it usually stays there."""

    def __init__(self, directory: Path) -> None:
        self._prefix = str(directory) + os.sep
        self.recovery_seconds = 0.05

    def wait_until_begun(self, broker: BrokerProcess) -> bool:
        """True when the process has a file of the directory open; the rest before is Python."""
        deadline_s = time.monotonic() + START_SECONDS_MAX
        while not self._has_file_open(broker.pid):
            if time.monotonic() > deadline_s:
                return False
            time.sleep(LOOK_SECONDS)
        return True

    def start(self, broker: BrokerProcess) -> None:
        """A whole start, of which the time in recovery is taken."""
        broker.spawn()
        begun = self.wait_until_begun(broker)
        begun_at_s = time.monotonic()
        broker.wait_until_ready()
        if begun:
            self.recovery_seconds = time.monotonic() - begun_at_s

    def _has_file_open(self, pid: int) -> bool:
        with suppress(FileNotFoundError):
            for descriptor in os.listdir(f"/proc/{pid}/fd"):
                with suppress(FileNotFoundError):  # closed between the two calls
                    target = os.readlink(f"/proc/{pid}/fd/{descriptor}")
                    if target.startswith(self._prefix):
                        return True
        return False

"""The ports: clock, disk, chance and background work.

Code above this layer takes these as arguments and never imports ``time``, ``os`` or ``random`` for
the purpose. ``real.py`` is the machine; ``headrace.testing`` has the simulated twins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Buffer = bytes | bytearray | memoryview


class Clock(Protocol):
    """Two clocks: one to stamp records with, one to measure with."""

    def now_ms(self) -> int:
        """Wall clock, milliseconds since the epoch; may jump."""

    def monotonic(self) -> float:
        """Seconds that never go back."""


class Chance(Protocol):
    """All randomness."""

    def random_bytes(self, count: int) -> bytes: ...

    def random_float(self) -> float:
        """Uniform in [0, 1)."""


class DiskFile(Protocol):
    """One open file. Positions are explicit: nobody depends on a seek pointer."""

    path: str

    def write_at(self, position: int, data: Buffer) -> None:
        """Write all of ``data``; on failure raise StorageFailure (DiskFull when full)."""

    def write_all_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        """Write the buffers one after the other with one system call where possible."""

    def read_at(self, position: int, size: int) -> bytes:
        """At most ``size`` bytes; fewer only at the end of the file."""

    def truncate(self, size: int) -> None: ...

    def allocate(self, size: int) -> None:
        """Extend the file to ``size`` bytes of zeros if it is shorter."""

    def sync(self) -> None:
        """Data and size reach the medium before this returns (fdatasync)."""

    def size(self) -> int: ...

    def fileno(self) -> int:
        """The descriptor for sendfile, or -1 where there is none."""

    def close(self) -> None: ...


class Disk(Protocol):
    """A file system. Paths are strings with ``/``. Failures are StorageFailure or DiskFull."""

    def open(self, path: str, *, create: bool = False) -> DiskFile:
        """Open for reading and writing; FileNotFoundError without ``create``."""

    def exists(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def modified_ms(self, path: str) -> int: ...

    def list(self, path: str) -> list[str]:
        """Names in a directory, sorted."""

    def is_directory(self, path: str) -> bool: ...

    def make_directory(self, path: str) -> None:
        """With parents; no error if it exists."""

    def remove(self, path: str) -> None: ...

    def remove_tree(self, path: str) -> None: ...

    def rename(self, source: str, target: str) -> None:
        """Atomic replacement."""

    def sync_directory(self, path: str) -> None: ...

    def read_file(self, path: str) -> bytes: ...

    def replace_file(self, path: str, data: Buffer, *, sync: bool = True) -> None:
        """Write a temporary file, sync it, rename it over ``path``, sync the directory."""

    def free_bytes(self, path: str) -> int: ...

    def total_bytes(self, path: str) -> int:
        """Of the volume that the path is on."""


class Background(Protocol):
    """Runs blocking work beside the loop."""

    def submit(
        self, work: Callable[[], object], done: Callable[[BaseException | None], None]
    ) -> None:
        """Run ``work`` in a thread; then call ``done`` on the loop's thread."""

    def call_later(self, delay_seconds: float, callback: Callable[[], None]) -> Cancellable:
        """Call back on the loop's thread."""


class Cancellable(Protocol):
    def cancel(self) -> None: ...

"""A disk in memory that fails, fills up, rots, and loses power, all by a seed.

What was written but not synced may be kept, lost or torn by ``crash`` (the machine loses power),
and survives ``kill`` (the process dies, its page cache does not). Operations are counted, so that
a workload can be run again and again with the crash at each of its operations in turn.
"""

from __future__ import annotations

from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING

from headrace.model.errors import DiskFull, StorageFailure
from headrace.testing.simulated_medium import (
    PAGE_BYTES,
    DirectoryNode,
    FileNode,
    Journal,
    Node,
    all_nodes,
    nodes_below,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.environment.ports import Buffer, Clock

FREE_BYTES_UNLIMITED = 1 << 40
CRASH_POINTS_MAX = 100_000
_TAKES_A_BLOCK = frozenset({"create", "make_directory"})


class SimulatedCrash(BaseException):
    """The machine or the process stops here. No handler of errors may catch it."""


class FaultyFile:
    """An open file of a FaultyDisk. It dies with the process that opened it."""

    def __init__(self, disk: FaultyDisk, path: str, node: FileNode) -> None:
        self.path = path
        self.node = node
        self._disk = disk
        self._life = disk.life
        self._is_open = True

    def write_at(self, position: int, data: Buffer) -> None:
        self._raise_if_unusable()
        self._disk.change(
            "write",
            self.path,
            lambda: self._write(position, data),
            partly=lambda: self._write(position, self._disk.torn(data)),
            failed=lambda: self._write(position, self._disk.torn(data)),
        )

    def write_all_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        self.write_at(position, b"".join(buffers))

    def read_at(self, position: int, size: int) -> bytes:
        self._raise_if_unusable()
        self._disk.observe("read", self.path)
        return bytes(self.node.cached[position : position + size])

    def truncate(self, size: int) -> None:
        self._raise_if_unusable()
        self._disk.change("truncate", self.path, lambda: self._resize(size))

    def allocate(self, size: int) -> None:
        self._raise_if_unusable()
        if size > len(self.node.cached):
            self._disk.change("allocate", self.path, lambda: self._resize(size))

    def sync(self) -> None:
        self._raise_if_unusable()
        self._disk.change("sync", self.path, self.node.sync, failed=self.node.forget_dirty)

    def size(self) -> int:
        self._raise_if_unusable()
        return len(self.node.cached)

    def fileno(self) -> int:
        return -1

    def close(self) -> None:
        self._is_open = False

    def _write(self, position: int, data: Buffer) -> None:
        growth = position + len(data) - len(self.node.cached)
        room = self._disk.room()
        if growth > room:
            # As a real disk does: what fits is written, then the call fails.
            self.node.write(position, bytes(data)[: max(0, len(data) - (growth - room))])
            raise DiskFull(f"cannot write to {self.path}: no space left (simulated)")
        self.node.write(position, data)
        self.node.modified_ms = self._disk.now_ms()

    def _resize(self, size: int) -> None:
        if size - len(self.node.cached) > self._disk.room():
            raise DiskFull(f"cannot extend {self.path}: no space left (simulated)")
        self.node.resize(size)
        self.node.modified_ms = self._disk.now_ms()

    def _raise_if_unusable(self) -> None:
        self._disk.raise_if_down()
        if not self._is_open or self._life != self._disk.life:
            raise StorageFailure(f"{self.path} is not open")


class FaultyDisk:
    """The Disk port over simulated files.

    ``unit_bytes`` is what the medium writes atomically (512 or 4096). With ``entries_in_order``
    a crash keeps a prefix of the unsynced directory changes, as a journalling file system does;
    without, any subset of them.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        clock: Clock | None = None,
        capacity_bytes: int | None = None,
        unit_bytes: int = PAGE_BYTES,
        entries_in_order: bool = True,
    ) -> None:
        self.operations = 0
        """Changes and syncs so far: the numbers that ``crash_at`` and ``fail_at`` mean."""
        self.reads = 0
        self.history: list[str] = []
        """One line per operation, to tell what a failing crash point was."""
        self.capacity_bytes = capacity_bytes
        self.life = 0
        self._chance = Random(seed)
        self._clock = clock
        self._unit_bytes = unit_bytes
        self._root = DirectoryNode()
        self._journal = Journal(in_order=entries_in_order)
        self._crash_at: int | None = None
        self._is_down = False
        self._failures_by_operation: dict[int, StorageFailure] = {}
        self._failures_by_read: dict[int, StorageFailure] = {}
        self._full_operations = range(0)
        self._failures_by_kind: dict[str, list[StorageFailure]] = {}

    # --- faults ---------------------------------------------------------------------------------

    def crash_at(self, operation: int) -> None:
        """Raise SimulatedCrash in the operation with this number, counted from now on."""
        self._crash_at = self.operations + operation

    def fail_at(self, operation: int, error: StorageFailure | None = None) -> None:
        """Fail the operation with this number, counted from now on (0 is the next)."""
        failure = error or StorageFailure("simulated failure")
        self._failures_by_operation[self.operations + operation] = failure

    def fail_read_at(self, read: int, error: StorageFailure | None = None) -> None:
        """Fail the read, listing or opening with this number, counted from now on."""
        failure = error or StorageFailure("simulated failure of a read")
        self._failures_by_read[self.reads + read] = failure

    def fill_up_at(self, operation: int, length: int) -> None:
        """From the operation with this number on, for so many of them, nothing may grow."""
        first = self.operations + operation
        self._full_operations = range(first, first + length)

    def fail_next(self, kind: str, error: StorageFailure | None = None) -> None:
        """Fail the next operation of a kind: write, sync, read, rename, remove, create..."""
        failure = error or StorageFailure(f"simulated failure of {kind}")
        self._failures_by_kind.setdefault(kind, []).append(failure)

    def rot(self, path: str, position: int, mask: int = 0x01) -> None:
        """Flip bits of a byte on the medium, as old disks do."""
        node = self._file(path)
        node.cached[position] ^= mask
        if position < len(node.durable):
            node.durable[position] ^= mask

    def crash(self) -> None:
        """The power goes and comes back: only what the medium has is there."""
        self._journal.lose_power(self._chance)
        for node in all_nodes(self._root):
            if isinstance(node, FileNode):
                node.lose_power(self._chance, self._unit_bytes)
        for node in nodes_below(self._root, durable=True):
            if isinstance(node, DirectoryNode):
                node.cached = dict(node.durable)
        self.kill()

    def kill(self) -> None:
        """The process dies and may start again: open files are gone, the page cache is not."""
        self.life += 1
        self._is_down = False
        self._crash_at = None
        self._failures_by_operation.clear()
        self._failures_by_read.clear()
        self._failures_by_kind.clear()
        self._full_operations = range(0)

    # --- the Disk port --------------------------------------------------------------------------

    def open(self, path: str, *, create: bool = False) -> FaultyFile:
        self.raise_if_down()
        node = self._find(path)
        if isinstance(node, DirectoryNode):
            raise StorageFailure(f"cannot open {path}: it is a directory")
        if node is None:
            if not create:
                raise FileNotFoundError(path)
            node = FileNode(self.now_ms())
            self._link("create", path, node)
        else:
            self.observe("open", path)
        return FaultyFile(self, path, node)

    def exists(self, path: str) -> bool:
        self.raise_if_down()
        return self._find(path) is not None

    def size(self, path: str) -> int:
        return len(self._file(path).cached)

    def modified_ms(self, path: str) -> int:
        return self._file(path).modified_ms

    def list(self, path: str) -> list[str]:
        self.observe("list", path)
        return sorted(self._directory(path).cached)

    def is_directory(self, path: str) -> bool:
        self.raise_if_down()
        return isinstance(self._find(path), DirectoryNode)

    def make_directory(self, path: str) -> None:
        self.raise_if_down()
        names = _names(path)
        for depth in range(1, len(names) + 1):
            partial = "/".join(names[:depth])
            node = self._find(partial)
            if isinstance(node, FileNode):
                raise StorageFailure(f"cannot make the directory {path}: {partial} is a file")
            if node is None:
                self._link("make_directory", partial, DirectoryNode())

    def remove(self, path: str) -> None:
        self._file(path)
        self._link("remove", path, None)

    def remove_tree(self, path: str) -> None:
        self.raise_if_down()
        node = self._find(path)
        if isinstance(node, DirectoryNode):
            for name in sorted(node.cached):
                self.remove_tree(f"{path}/{name}")
        if node is not None:
            self._link("remove", path, None)

    def rename(self, source: str, target: str) -> None:
        self.raise_if_down()
        node = self._find(source)
        if node is None:
            raise FileNotFoundError(source)
        source_directory, source_name = self._parent(source)
        target_directory, target_name = self._parent(target)
        self.change(
            "rename",
            f"{source} -> {target}",
            lambda: self._journal.apply(
                (source_directory, source_name, None), (target_directory, target_name, node)
            ),
        )

    def sync_directory(self, path: str) -> None:
        directory = self._directory(path)
        self.change("sync_directory", path, lambda: self._journal.sync(directory))

    def read_file(self, path: str) -> bytes:
        self.observe("read", path)
        return bytes(self._file(path).cached)

    def replace_file(self, path: str, data: Buffer, *, sync: bool = True) -> None:
        temporary = path + ".tmp"
        file = self.open(temporary, create=True)
        file.truncate(0)
        file.write_at(0, data)
        if sync:
            file.sync()
        file.close()
        self.rename(temporary, path)
        if sync:
            self.sync_directory(path.rpartition("/")[0])

    def free_bytes(self, path: str) -> int:
        self._directory(path)
        return self.room()

    def total_bytes(self, path: str) -> int:
        self._directory(path)
        return FREE_BYTES_UNLIMITED if self.capacity_bytes is None else self.capacity_bytes

    # --- for the files of this disk -------------------------------------------------------------

    def change(
        self,
        kind: str,
        path: str,
        effect: Callable[[], None],
        *,
        partly: Callable[[], None] | None = None,
        failed: Callable[[], None] | None = None,
    ) -> None:
        """Count the operation, then crash in it, fail it, or let it happen."""
        self.raise_if_down()
        number = self.operations
        self.operations += 1
        self.history.append(f"{number} {kind} {path}")
        if number == self._crash_at:
            self._is_down = True
            self._crash_within(effect, partly)
            raise SimulatedCrash(self.history[-1])
        failure = self._failures_by_operation.pop(number, None) or self._planned_failure(kind)
        if failure is not None:
            if failed is not None:
                failed()
            raise failure
        if kind in _TAKES_A_BLOCK and number in self._full_operations:
            raise DiskFull(f"cannot {kind} {path}: no space left (simulated)")
        effect()

    def observe(self, kind: str, path: str) -> None:
        """Count a read; it may be told to fail."""
        self.raise_if_down()
        failure = self._failures_by_read.pop(self.reads, None) or self._planned_failure(kind)
        self.reads += 1
        if failure is not None:
            raise failure

    def raise_if_down(self) -> None:
        if self._is_down:
            raise SimulatedCrash("the machine is down")

    def torn(self, data: Buffer) -> bytes:
        """A beginning of the data, of any length."""
        return bytes(data)[: self._chance.randint(0, len(data))]

    def room(self) -> int:
        if self.operations - 1 in self._full_operations:
            return 0
        if self.capacity_bytes is None:
            return FREE_BYTES_UNLIMITED
        nodes = nodes_below(self._root)
        used = sum(len(node.cached) for node in nodes if isinstance(node, FileNode))
        return max(0, self.capacity_bytes - used)

    def now_ms(self) -> int:
        return 0 if self._clock is None else self._clock.now_ms()

    # --- within ---------------------------------------------------------------------------------

    def _crash_within(self, effect: Callable[[], None], partly: Callable[[], None] | None) -> None:
        """The operation has had its effect, a part of it, or none: nobody was told which."""
        fate = self._chance.randrange(3)
        if fate == 0:
            effect()
        elif fate == 1 and partly is not None:
            partly()

    def _planned_failure(self, kind: str) -> StorageFailure | None:
        planned = self._failures_by_kind.get(kind)
        return planned.pop(0) if planned else None

    def _find(self, path: str) -> Node | None:
        node: Node | None = self._root
        for name in _names(path):
            if not isinstance(node, DirectoryNode):
                return None
            node = node.cached.get(name)
        return node

    def _file(self, path: str) -> FileNode:
        self.raise_if_down()
        node = self._find(path)
        if node is None:
            raise FileNotFoundError(path)
        if isinstance(node, DirectoryNode):
            raise StorageFailure(f"{path} is a directory")
        return node

    def _directory(self, path: str) -> DirectoryNode:
        self.raise_if_down()
        node = self._find(path)
        if node is None:
            raise FileNotFoundError(path)
        if isinstance(node, FileNode):
            raise StorageFailure(f"{path} is no directory")
        return node

    def _parent(self, path: str) -> tuple[DirectoryNode, str]:
        *above, name = _names(path)
        return self._directory("/".join(above)), name

    def _link(self, kind: str, path: str, node: Node | None) -> None:
        directory, name = self._parent(path)
        self.change(kind, path, lambda: self._journal.apply((directory, name, node)))


@lru_cache(maxsize=4096)
def _names(path: str) -> tuple[str, ...]:
    return tuple(name for name in path.split("/") if name not in ("", "."))


def crash_everywhere(
    work: Callable[[FaultyDisk], None],
    check: Callable[[FaultyDisk], None],
    *,
    make_disk: Callable[[int], FaultyDisk] = FaultyDisk,
    power_loss: bool = True,
) -> int:
    """Run ``work`` with a crash at its first operation, its second, and so on; ``check`` each.

    ``make_disk`` gets the number of the crash point as seed. Returns how many points there were.
    """
    for point in range(CRASH_POINTS_MAX):
        disk = make_disk(point)
        disk.crash_at(point)
        try:
            work(disk)
        except SimulatedCrash as crash:
            place = f"crash point {point}: {crash}"
        else:
            return point
        if power_loss:
            disk.crash()
        else:
            disk.kill()
        try:
            check(disk)
        except Exception as error:
            error.add_note(place)
            raise
    raise AssertionError(f"the work takes more than {CRASH_POINTS_MAX} operations")

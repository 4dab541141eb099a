"""Files and directories that remember what has reached the medium and what has not.

Every file has two contents: the cached one, which all reads see, and the durable one, which a power
cut leaves. Every directory has two sets of entries likewise. Changes of entries wait in a journal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from headrace.environment.ports import Buffer

SECTOR_BYTES = 512
PAGE_BYTES = 4096


class FileNode:
    """One file; names of it are held by directories, open files hold the node itself."""

    def __init__(self, modified_ms: int) -> None:
        self.cached = bytearray()
        self.durable = bytearray()
        self.dirty_sectors: set[int] = set()
        self.size_is_dirty = False
        self.modified_ms = modified_ms

    def write(self, position: int, data: Buffer) -> None:
        end = position + len(data)
        if position > len(self.cached):
            self.resize(position)
        self.cached[position:end] = data
        self._mark(position, end)
        self.size_is_dirty |= len(self.cached) != len(self.durable)

    def resize(self, size: int) -> None:
        before = len(self.cached)
        if size < before:
            del self.cached[size:]
        else:
            self.cached += bytes(size - before)
        # What was cut off must not reappear if the file grows again over old durable bytes.
        self._mark(min(size, before), max(size, before))
        self.size_is_dirty = True

    def sync(self) -> None:
        """All of it reaches the medium."""
        size = len(self.cached)
        del self.durable[size:]
        self.durable += bytes(size - len(self.durable))
        for sector in self.dirty_sectors:
            start = sector * SECTOR_BYTES
            self.durable[start : start + SECTOR_BYTES] = self.cached[start : start + SECTOR_BYTES]
        self.forget_dirty()

    def forget_dirty(self) -> None:
        """After a failed sync the kernel holds the pages clean, though the medium lacks them."""
        self.dirty_sectors.clear()
        self.size_is_dirty = False

    def lose_power(self, chance: Random, unit_bytes: int) -> None:
        """Each dirty unit is kept or lost by chance, and so is the size; that is what is left."""
        cached, durable = self.cached, self.durable
        sizes = {len(durable)}
        if self.size_is_dirty:
            low, high = sorted((len(durable), len(cached)))
            sizes |= {len(cached), chance.randint(low, high)}
        size = chance.choice(sorted(sizes))
        left = bytearray(durable[:size])
        left += bytes(size - len(left))
        for unit in sorted({sector * SECTOR_BYTES // unit_bytes for sector in self.dirty_sectors}):
            start, end = unit * unit_bytes, min((unit + 1) * unit_bytes, size, len(cached))
            if start < end and chance.random() < 0.5:
                left[start:end] = cached[start:end]
        self.cached, self.durable = left, bytearray(left)
        self.forget_dirty()

    def _mark(self, start: int, end: int) -> None:
        if start < end:
            self.dirty_sectors.update(range(start // SECTOR_BYTES, (end - 1) // SECTOR_BYTES + 1))


class DirectoryNode:
    """One directory: what processes see, and what a power cut leaves."""

    def __init__(self) -> None:
        self.cached: dict[str, Node] = {}
        self.durable: dict[str, Node] = {}


Node = FileNode | DirectoryNode
EntryChange = tuple[DirectoryNode, str, Node | None]
JournalEntry = tuple[EntryChange, ...]


class Journal:
    """Changes of directory entries on their way to the medium; one entry is atomic.

    ``in_order`` is a journalling file system: changes become durable in the order they were made.
    Without it they become durable in any order, which is all that POSIX promises.
    """

    def __init__(self, *, in_order: bool = True) -> None:
        self._in_order = in_order
        self._waiting: list[JournalEntry] = []

    def apply(self, *changes: EntryChange) -> None:
        """Visible to all at once; durable later."""
        for directory, name, node in changes:
            _set(directory.cached, name, node)
        self._waiting.append(changes)

    def sync(self, directory: DirectoryNode) -> None:
        """Make durable what touches ``directory``, and what must come before that."""
        chosen: set[int] = set()
        names: set[tuple[DirectoryNode, str]] = set()
        for index in reversed(range(len(self._waiting))):
            entry = self._waiting[index]
            entry_names = {(touched, name) for touched, name, _ in entry}
            touches = any(touched is directory for touched, _ in entry_names)
            if touches or names & entry_names or (self._in_order and chosen):
                chosen.add(index)
                names |= entry_names
        self._commit([self._waiting[index] for index in sorted(chosen)])
        self._waiting = [entry for index, entry in enumerate(self._waiting) if index not in chosen]

    def lose_power(self, chance: Random) -> None:
        """Of what waits, keep a prefix (in order) or any part."""
        if self._in_order:
            kept = self._waiting[: chance.randint(0, len(self._waiting))]
        else:
            kept = [entry for entry in self._waiting if chance.random() < 0.5]
        self._commit(kept)
        self._waiting.clear()

    @staticmethod
    def _commit(entries: list[JournalEntry]) -> None:
        for entry in entries:
            for directory, name, node in entry:
                _set(directory.durable, name, node)


def nodes_below(directory: DirectoryNode, *, durable: bool = False) -> list[Node]:
    """All files and directories that can be reached from ``directory``, itself included."""
    found: list[Node] = [directory]
    for node in found:
        if isinstance(node, DirectoryNode):
            found.extend((node.durable if durable else node.cached).values())
    return found


def all_nodes(root: DirectoryNode) -> list[Node]:
    """Nodes that have a name now, or that get one back when the power fails."""
    found: dict[Node, None] = {root: None}
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, DirectoryNode):
            for below in (*node.cached.values(), *node.durable.values()):
                if below not in found:
                    found[below] = None
                    waiting.append(below)
    return list(found)


def _set(entries: dict[str, Node], name: str, node: Node | None) -> None:
    if node is None:
        entries.pop(name, None)
    else:
        entries[name] = node

"""Which leader epoch began at which offset, kept in ``leader-epoch-checkpoint``.

Followers and consumers ask where an epoch ended, to see whether their log has diverged (KIP-320).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from headrace.model.errors import DamagedLog
from headrace.storage.checkpoints import read_epochs, write_epochs

if TYPE_CHECKING:
    from headrace.environment.ports import Disk

UNKNOWN = (-1, -1)


class LeaderEpochs:
    """Pairs (epoch, start offset), both ascending; read from the file when first needed."""

    def __init__(self, disk: Disk | None, path: str) -> None:
        self._disk = disk
        self._path = path
        self._pairs: list[tuple[int, int]] | None = None if disk is not None else []

    def move_to(self, path: str) -> None:
        """The directory was renamed."""
        self._path = path

    @property
    def pairs(self) -> list[tuple[int, int]]:
        if self._pairs is None:
            assert self._disk is not None
            try:
                self._pairs = read_epochs(self._disk, self._path)
            except DamagedLog:
                # It can be found again in the batches, each of which carries its epoch.
                self._pairs = []
        return self._pairs

    @property
    def latest(self) -> int:
        """The newest epoch, or -1."""
        return self.pairs[-1][0] if self.pairs else -1

    def assign(self, epoch: int, start_offset: int) -> None:
        """``epoch`` begins at ``start_offset``, if it is newer than all that are known."""
        pairs = self.pairs
        if pairs and epoch <= pairs[-1][0]:
            return
        # An epoch in which nothing was written leaves no trace: the next one starts where it did.
        while pairs and pairs[-1][1] >= start_offset:
            pairs.pop()
        pairs.append((epoch, start_offset))
        self._write()

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The largest epoch up to ``epoch`` and where it ended; (-1, -1) if nobody can know."""
        pairs = self.pairs
        if epoch < 0 or not pairs or epoch > pairs[-1][0]:
            return UNKNOWN
        if epoch == pairs[-1][0]:
            return epoch, log_end_offset
        after = bisect_right(pairs, epoch, key=lambda pair: pair[0])
        found = pairs[after - 1][0] if after else epoch
        return found, pairs[after][1]

    def epoch_at(self, offset: int) -> int:
        """The epoch in which the record at ``offset`` was written, or -1."""
        after = bisect_right(self.pairs, offset, key=lambda pair: pair[1])
        return self.pairs[after - 1][0] if after else -1

    def truncate_from_end(self, end_offset: int) -> None:
        """The log was cut to ``end_offset``."""
        kept = [pair for pair in self.pairs if pair[1] < end_offset]
        if len(kept) < len(self.pairs):
            self._pairs = kept
            self._write()

    def truncate_from_start(self, start_offset: int) -> None:
        """The log begins at ``start_offset`` now: the epoch there begins there, too."""
        pairs = self.pairs
        after = bisect_right(pairs, start_offset, key=lambda pair: pair[1])
        if after and (after > 1 or pairs[0][1] < start_offset):
            self._pairs = [(pairs[after - 1][0], start_offset), *pairs[after:]]
            self._write()

    def _write(self) -> None:
        # Not synced: after a loss of power recovery finds the epochs in the batches.
        if self._disk is not None:
            write_epochs(self._disk, self._path, self.pairs, sync=False)

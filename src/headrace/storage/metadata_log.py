"""The metadata log: one change, one batch; written at once, synced beside the loop.

A change is one batch so that a crash leaves all of it or nothing. Syncs are shared: whatever was
written while one runs is covered by the next. When the files have grown past a limit, the whole
state is written as a snapshot and the files before it go.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.model.errors import StorageFailure
from headrace.model.topic import CLUSTER_METADATA_TOPIC
from headrace.records.build import build_batch
from headrace.storage.file_names import LOG_SUFFIX, offsets_with, segment_file
from headrace.storage.metadata_checkpoint import Checkpoint, build_checkpoint, checkpoints_among
from headrace.storage.metadata_log_reader import read_metadata_log

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.environment.ports import Background, Clock, Disk, DiskFile
    from headrace.storage.metadata_log_reader import MetadataLogContents

DIRECTORY_NAME = f"{CLUSTER_METADATA_TOPIC}-0"
SIZE_BYTES_MAX = 16 * 2**20
"""A snapshot is taken when the log is larger than this, and than two snapshots."""

log = logging.getLogger(__name__)


class MetadataLog:
    """Append-only; ``snapshot`` gives the values of the records that the state replays from."""

    def __init__(
        self,
        data_directory: str,
        disk: Disk,
        clock: Clock,
        background: Background,
        snapshot: Callable[[], Sequence[bytes]],
        size_bytes_max: int = SIZE_BYTES_MAX,
    ) -> None:
        self._data_directory = data_directory
        self.directory = f"{data_directory}/{DIRECTORY_NAME}"
        self.next_offset = 0
        self.durable_offset = 0
        """Everything before it is on the medium."""
        self.epoch = 0
        self._disk = disk
        self._clock = clock
        self._background = background
        self._snapshot = snapshot
        self._size_bytes_max = size_bytes_max
        self._file: DiskFile | None = None
        self._position = 0
        self._size_bytes = 0
        self._snapshot_due_bytes = size_bytes_max
        self._is_syncing = False
        self._is_snapshotting = False
        self._is_unsynced = False
        self._failure: BaseException | None = None
        self._waiting: list[Callable[[BaseException | None], None]] = []
        self._in_flight: list[Callable[[BaseException | None], None]] = []

    def open(self) -> MetadataLogContents:
        """Read all there is, and be ready to append behind it."""
        self._disk.make_directory(self.directory)
        self._disk.sync_directory(self._data_directory)
        contents = read_metadata_log(self._disk, self.directory)
        self.next_offset, self.epoch = contents.next_offset, contents.epoch
        self._size_bytes = contents.size_bytes
        self._snapshot_due_bytes = max(self._size_bytes_max, 2 * contents.snapshot_size_bytes)
        self._open_segment(contents.active_base_offset, contents.active_size_bytes)
        self._write_again(contents.active_size_bytes)
        self.durable_offset = self.next_offset
        return contents

    def _write_again(self, size_bytes: int) -> None:
        """The last file may have seen a failed sync: then the system shows bytes that the medium
        lacks, and takes them for written. What follows must not stand on that."""
        if self._file is not None and size_bytes:
            self._file.write_at(0, self._file.read_at(0, size_bytes))
            self._file.sync()

    def append(self, values: Sequence[bytes]) -> None:
        """Write one batch; StorageFailure if it cannot be written, and then nothing is.

        ``work_on`` must follow once the records are replayed: a snapshot is of the replayed state.
        """
        if self._failure is not None:
            raise StorageFailure(f"the metadata log failed before: {self._failure}")
        assert self._file is not None, "open() comes first"
        batch = build_batch(
            [(None, value) for value in values],
            base_offset=self.next_offset,
            timestamp_ms=self._clock.now_ms(),
            leader_epoch=self.epoch,
        )
        # A failed write may leave a part behind: the next one covers it, or recovery cuts it off.
        self._file.write_at(self._position, batch)
        self._position += len(batch)
        self._size_bytes += len(batch)
        self.next_offset += len(values)
        self._is_unsynced = True

    def when_durable(self, done: Callable[[BaseException | None], None]) -> None:
        """Call back once everything appended so far is on the medium; at once if it is."""
        if self._failure is not None:
            done(self._failure)
        elif self._is_unsynced:
            self._waiting.append(done)
            self.work_on()
        elif self._is_syncing:
            self._in_flight.append(done)
        else:
            done(None)

    def work_on(self) -> None:
        """Begin whatever is due, one thing at a time: a sync, else a snapshot."""
        if self._is_syncing or self._is_snapshotting or self._failure or self._file is None:
            return
        if self._is_unsynced:
            self._is_syncing, self._is_unsynced = True, False
            self._in_flight, self._waiting = self._waiting, []
            end_offset = self.next_offset
            self._background.submit(
                self._file.sync, lambda error: self._sync_done(error, end_offset)
            )
        elif self._size_bytes > self._snapshot_due_bytes:
            self._is_snapshotting = True
            self._begin_snapshot(self._file)

    def close(self) -> None:
        """Make all durable; call when no work runs in the background any more."""
        if self._file is not None:
            self._file.sync()
            self._file.close()
            self._file = None

    def _sync_done(self, error: BaseException | None, end_offset: int) -> None:
        told, self._in_flight = self._in_flight, []
        self._is_syncing = False
        if error is None:
            self.durable_offset = end_offset
        else:
            # After a failed sync nobody knows what is on the medium: write no more behind it.
            self._failure = error
            told += self._waiting
            self._waiting = []
        for done in told:
            done(error)
        self.work_on()

    def _begin_snapshot(self, synced_file: DiskFile) -> None:
        """The files before now are whole and synced: put a snapshot in their place."""
        values = list(self._snapshot())
        checkpoint = Checkpoint(self.next_offset, self.epoch)
        synced_file.close()
        self._open_segment(self.next_offset, 0)
        timestamp_ms = self._clock.now_ms()
        self._background.submit(
            lambda: self._write_snapshot(checkpoint, values, timestamp_ms),
            lambda error: self._snapshot_done(checkpoint, error),
        )

    def _write_snapshot(
        self, checkpoint: Checkpoint, values: list[bytes], timestamp_ms: int
    ) -> None:
        """Runs in a thread: touches files and nothing else."""
        data = build_checkpoint(values, checkpoint.epoch, timestamp_ms)
        self._disk.replace_file(f"{self.directory}/{checkpoint.file_name}", data)
        names = self._disk.list(self.directory)
        for older in checkpoints_among(names):
            if older < checkpoint:
                self._disk.remove(f"{self.directory}/{older.file_name}")
        for base_offset in offsets_with(names, LOG_SUFFIX):
            if base_offset < checkpoint.end_offset:
                self._disk.remove(segment_file(self.directory, base_offset, LOG_SUFFIX))

    def _snapshot_done(self, checkpoint: Checkpoint, error: BaseException | None) -> None:
        self._is_snapshotting = False
        if error is None:
            self._size_bytes = self._position
            snapshot_bytes = self._disk.size(f"{self.directory}/{checkpoint.file_name}")
            self._snapshot_due_bytes = max(self._size_bytes_max, 2 * snapshot_bytes)
        else:
            # Nothing is lost, the old files are still there; try again when there is more to gain.
            self._snapshot_due_bytes = self._size_bytes + self._size_bytes_max
            log.warning("metadata snapshot failed: %s", error)
        self.work_on()

    def _open_segment(self, base_offset: int, size_bytes: int) -> None:
        path = segment_file(self.directory, base_offset, LOG_SUFFIX)
        self._file = self._disk.open(path, create=True)
        self._position = size_bytes
        self._disk.sync_directory(self.directory)

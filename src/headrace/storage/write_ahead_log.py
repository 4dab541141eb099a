"""The node's write-ahead log: what makes an append to several partitions one, and fsync affordable.

Each append is one checksummed frame. Two files take turns: while frames go to one, the segments
that the other one covers are brought to the medium, and then it is overwritten under a new
generation number. So the size is bounded, and the files keep their blocks. One sync serves every
append that waits for it (group commit). ``docs/formats`` has the bytes.
"""

from __future__ import annotations

import struct
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from crc32c import crc32c

from headrace.metrics.registry import StorageCounters
from headrace.model.errors import DiskFull, HeadraceError, StorageFailure
from headrace.model.topic import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.environment.ports import Background, Buffer, Disk, DiskFile
    from headrace.model.topic import TopicId

FILE_NAMES = ("headrace-write-ahead-0.log", "headrace-write-ahead-1.log")
"""Plain files: Kafka takes every directory of the data directory for a partition."""

_MAGIC = b"HRWAL\x00\x00\x01"
_FILE_HEAD = struct.Struct(">8sQI")
_FILE_CRC_COVERS = 16
_FRAME_HEAD = struct.Struct(">IIQQ")
_FRAME_START = struct.Struct(">II")
_FRAME_NUMBERS = struct.Struct(">QQ")
"""The two parts of a frame's head; the checksum covers the second."""
_CRC_FROM = 8
_COUNT = struct.Struct(">I")
_ONE = _COUNT.pack(1)
_ENTRY_HEAD = struct.Struct(">H")
_ENTRY_PLACE = struct.Struct(">i16s")
_ENTRY_TAIL = struct.Struct(">qI")
_ENTRY_REST = struct.Struct(">i16sqI")
_FRAME_BYTES_MAX = 2**31 - 1
FRAMES_FROM = 32
RESERVE_STEP_BYTES = 4 * 1024 * 1024
JOINED_BYTES_MAX = 16 * 1024
"""A frame up to this size is copied into one piece, which takes one checksum and one buffer."""


class FrameEntry(NamedTuple):
    """One batch of a frame as it was found, with the place it goes to."""

    partition: TopicPartition
    topic_id: TopicId
    base_offset: int
    batch: Buffer


class Frame(NamedTuple):
    """One append as it was found in the file."""

    commit_number: int
    entries: list[FrameEntry]


class WriteAheadLog:
    """Writes frames, syncs them in groups, and says when a commit number is safe."""

    def __init__(
        self,
        directory: str,
        disk: Disk,
        background: Background,
        size_bytes_max: int,
        release: Callable[[int, int], None],
        release_now: Callable[[int], None],
        *,
        counters: StorageCounters | None = None,
        sync_file: Callable[[DiskFile], None] | None = None,
    ) -> None:
        """``release(n, generation)`` starts flushing the segments that file ``n`` covers and
        answers by ``released``; ``release_now(n)`` does it before it returns. ``sync_file`` may be
        called in a thread."""
        self._directory = directory
        self._paths = [f"{directory}/{name}" for name in FILE_NAMES]
        self._disk = disk
        self._background = background
        self._file_bytes = max(size_bytes_max // 2, 2 * FRAMES_FROM)
        self._counters = counters or StorageCounters()
        self._sync_file = sync_file or _sync_file
        self._release = release
        self._release_now = release_now
        self._files: list[DiskFile | None] = [None, None]
        self._is_free = [True, True]
        self._reserved = [0, 0]
        self._generation = 0
        self._generations = [0, 0]
        self.active = 0
        self._position = 0
        self._last_position = 0
        self._dirty: list[DiskFile] = []
        self.commit_number = 0
        self.synced_number = 0
        self._is_syncing = False
        self._wanted_number = 0
        self._waiting: deque[tuple[int, Callable[[BaseException | None], None]]] = deque()
        self.failure: BaseException | None = None
        self.on_synced: Callable[[int], None] = lambda number: None

    def start(self, generation: int, commit_number: int) -> None:
        """Go on after what recovery found; both files are free now."""
        self._generation = generation
        self.commit_number = self.synced_number = self._wanted_number = commit_number

    # --- writing ----------------------------------------------------------------------------------

    def append(self, entries: Sequence[tuple[bytes, int, Buffer]]) -> int:
        """Write one frame of (``entry_head``, base offset, batch); its commit number.

        On failure nothing is left of it.
        """
        buffers: list[Buffer] = [_COUNT.pack(len(entries))]
        for head, base_offset, batch in entries:
            buffers.append(head + _ENTRY_TAIL.pack(base_offset, len(batch)))
            buffers.append(batch)
        return self._write(buffers)

    def append_one(self, entry_head: bytes, base_offset: int, batch: Buffer) -> int:
        """``append`` of a single entry."""
        return self._write([_ONE + entry_head + _ENTRY_TAIL.pack(base_offset, len(batch)), batch])

    def _write(self, buffers: list[Buffer]) -> int:
        if self.failure is not None:
            raise StorageFailure("the write-ahead log failed to sync; restart the broker") from (
                self.failure
            )
        payload_bytes = sum(map(len, buffers))
        if payload_bytes > _FRAME_BYTES_MAX:
            raise StorageFailure(f"an append of {payload_bytes} bytes is too large for one frame")
        frame_bytes = _FRAME_HEAD.size + payload_bytes
        file = self._file_for(frame_bytes)
        position = self._position
        if position + frame_bytes > self._reserved[self.active]:
            self._reserve(file, position + frame_bytes)
        number = self.commit_number + 1
        if payload_bytes <= JOINED_BYTES_MAX:
            covered = _FRAME_NUMBERS.pack(self._generation, number) + b"".join(buffers)
            frame: list[Buffer] = [_FRAME_START.pack(payload_bytes, crc32c(covered)) + covered]
        else:
            frame = [_frame_head(self._generation, number, buffers, payload_bytes), *buffers]
        try:
            file.write_all_at(position, frame)
        except HeadraceError:
            self._erase(file, position)
            raise
        self._last_position = position
        self._position = position + frame_bytes
        self.commit_number = number
        self._counters.wal_frames += 1
        self._counters.wal_bytes += frame_bytes
        if file not in self._dirty:
            self._dirty.append(file)
        return number

    def _reserve(self, file: DiskFile, end: int) -> None:
        """Grow the file in large steps, so that most syncs need not write its size."""
        steps = -(-end // RESERVE_STEP_BYTES)
        size = max(end, min(steps * RESERVE_STEP_BYTES, self._file_bytes))
        file.allocate(size)
        self._reserved[self.active] = size

    def undo_last(self) -> None:
        """The segments could not take the last frame: it must not be redone."""
        file = self._files[self.active]
        assert file is not None
        self._erase(file, self._last_position)
        self._position = self._last_position
        self.commit_number -= 1

    def _erase(self, file: DiskFile, position: int) -> None:
        """Overwrite a frame's head, so that no reader takes what follows for a frame."""
        try:
            if file.size() > position:
                file.write_at(position, bytes(min(_FRAME_HEAD.size, file.size() - position)))
        except DiskFull:
            # The head was not written either: there was no room for it.
            return
        except HeadraceError as error:
            self.failure = error
            raise

    def _file_for(self, frame_bytes: int) -> DiskFile:
        file = self._files[self.active]
        if file is None:
            return self._begin_file(self.active)
        if self._position + frame_bytes > self._file_bytes and self._position > FRAMES_FROM:
            other = 1 - self.active
            if not self._is_free[other]:
                self._release_now(other)
            left = self.active
            file = self._begin_file(other)
            self._release(left, self._generations[left])
        return file

    def _begin_file(self, number: int) -> DiskFile:
        file = self._files[number]
        if file is None:
            file = self._disk.open(self._paths[number], create=True)
            self._files[number] = file
            # A frame is only as safe as the name of the file that it is in.
            self._disk.sync_directory(self._directory)
        generation = self._generation + 1
        crc = crc32c(_FILE_HEAD.pack(_MAGIC, generation, 0)[:_FILE_CRC_COVERS])
        head = _FILE_HEAD.pack(_MAGIC, generation, crc)
        file.write_at(0, head.ljust(FRAMES_FROM, b"\x00") + bytes(_FRAME_HEAD.size))
        self._generation = self._generations[number] = generation
        self._is_free[number] = False
        self.active = number
        self._position = FRAMES_FROM
        return file

    def restart(self) -> None:
        """All that any frame covers is on the medium: forget every frame."""
        try:
            for number, file in enumerate(self._files):
                if file is not None:
                    file.write_at(0, bytes(FRAMES_FROM))
                    file.sync()
                    self._is_free[number] = True
            if self._files[self.active] is not None:
                self._begin_file(self.active)
        except HeadraceError as error:
            # A frame in a file without a head would be lost.
            self.failure = error
            raise

    def released(self, number: int, generation: int) -> None:
        """All that this generation of file ``number`` covers is on the medium."""
        if self._generations[number] == generation:
            self._is_free[number] = True

    # --- syncing ----------------------------------------------------------------------------------

    def request_sync(self) -> None:
        """Sync up to the last commit number soon; those that come meanwhile share the next sync."""
        self._wanted_number = self.commit_number
        if not self._is_syncing:
            self._start_sync()

    def _start_sync(self) -> None:
        self._is_syncing = True
        files, self._dirty = self._dirty, []
        number = self.commit_number

        def sync() -> None:
            for file in files:
                self._sync_file(file)

        self._background.submit(sync, lambda error: self._sync_done(number, error))

    def _sync_done(self, number: int, error: BaseException | None) -> None:
        self._is_syncing = False
        error = error or self.failure
        if error is not None:
            # After a failed sync the medium's content is unknown: nothing may be promised any more.
            self.failure = error
            waiting, self._waiting = self._waiting, deque()
            for _, callback in waiting:
                callback(error)
            return
        self.synced_number = max(self.synced_number, number)
        if self._wanted_number > number:
            self._start_sync()
        self.on_synced(number)
        while self._waiting and self._waiting[0][0] <= number:
            self._waiting.popleft()[1](None)

    def sync_now(self) -> None:
        """For the stop: everything written is on the medium when this returns."""
        self.sync_files()
        self._dirty = []
        self.synced_number = self.commit_number
        self.on_synced(self.synced_number)
        while self._waiting:
            self._waiting.popleft()[1](None)

    def sync_files(self) -> None:
        """Before any segment: no part of an append may survive that its frame does not.

        May be called in a thread."""
        try:
            for file in self._files:
                if file is not None:
                    self._sync_file(file)
        except HeadraceError as error:
            # The system tells it once: whoever syncs next would hear that all is well.
            self.failure = error
            raise

    def when_synced(self, number: int, callback: Callable[[BaseException | None], None]) -> None:
        if number <= self.synced_number:
            callback(None)
        elif self.failure is not None:
            callback(self.failure)
        else:
            self._waiting.append((number, callback))

    @property
    def size_bytes(self) -> int:
        return sum(file.size() for file in self._files if file is not None)

    def close(self) -> None:
        for file in self._files:
            if file is not None:
                file.close()
        self._files = [None, None]

    def remove_files(self) -> None:
        """After a clean stop nothing is left to redo."""
        self.close()
        for path in self._paths:
            if self._disk.exists(path):
                self._disk.remove(path)


def _sync_file(file: DiskFile) -> None:
    file.sync()


def entry_head(partition: TopicPartition, topic_id: TopicId) -> bytes:
    """The part of an entry that says which log it is for."""
    topic = partition.topic.encode()
    return _ENTRY_HEAD.pack(len(topic)) + topic + _ENTRY_PLACE.pack(partition.partition, topic_id)


def _frame_head(generation: int, number: int, buffers: list[Buffer], payload_bytes: int) -> bytes:
    head = _FRAME_HEAD.pack(payload_bytes, 0, generation, number)
    crc = crc32c(head[_CRC_FROM:])
    for buffer in buffers:
        crc = crc32c(buffer, crc)
    return _FRAME_HEAD.pack(payload_bytes, crc, generation, number)


def read_frames(disk: Disk, directory: str) -> tuple[Iterator[Frame], int]:
    """All whole frames of both files in the order they were written, and the last generation."""
    found: list[tuple[int, str]] = []
    for name in FILE_NAMES:
        path = f"{directory}/{name}"
        if disk.exists(path):
            generation = _generation_of(disk, path)
            if generation:
                found.append((generation, path))
    found.sort()
    frames = (frame for generation, path in found for frame in _frames_in(disk, path, generation))
    return frames, found[-1][0] if found else 0


def _generation_of(disk: Disk, path: str) -> int:
    """The generation in a file's head, or 0 if there is no whole head."""
    file = disk.open(path)
    head = file.read_at(0, FRAMES_FROM)
    file.close()
    if len(head) < FRAMES_FROM:
        return 0
    magic, generation, crc = _FILE_HEAD.unpack_from(head)
    if magic != _MAGIC or crc32c(head[:_FILE_CRC_COVERS]) != crc:
        return 0
    return int(generation)


def _frames_in(disk: Disk, path: str, generation: int) -> Iterator[Frame]:
    """The frames of one file up to the first that is torn, or left from an earlier generation."""
    file = disk.open(path)
    position, previous_number = FRAMES_FROM, 0
    while True:
        head = file.read_at(position, _FRAME_HEAD.size)
        if len(head) < _FRAME_HEAD.size:
            break
        length, crc, frame_generation, number = _FRAME_HEAD.unpack(head)
        if frame_generation != generation or number <= previous_number:
            break
        position += _FRAME_HEAD.size
        payload = file.read_at(position, length)
        if len(payload) < length or crc32c(payload, crc32c(head[_CRC_FROM:])) != crc:
            break
        try:
            entries = _entries_in(payload)
        except (struct.error, UnicodeDecodeError):
            break  # the checksum is right, but nobody wrote this
        yield Frame(number, entries)
        position, previous_number = position + length, number
    file.close()


def _entries_in(data: bytes) -> list[FrameEntry]:
    (count,) = _COUNT.unpack_from(data)
    position = _COUNT.size
    entries = []
    for _ in range(count):
        (topic_length,) = _ENTRY_HEAD.unpack_from(data, position)
        position += _ENTRY_HEAD.size
        topic = data[position : position + topic_length].decode()
        position += topic_length
        index, topic_id, base_offset, length = _ENTRY_REST.unpack_from(data, position)
        position += _ENTRY_REST.size
        batch = data[position : position + length]
        position += length
        entries.append(FrameEntry(TopicPartition(topic, index), topic_id, base_offset, batch))
    return entries

"""Judging the files of a log: a list of named findings, empty if all is well.

Every batch is read and decoded. Indexes are compared with their log in the same pass, entry by
entry, so that the memory needed is that of the indexes, however large the log is.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import InvalidRequest
from headrace.storage.file_names import (
    CUT_SUFFIX,
    INDEX_SUFFIXES,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    offset_of,
    offsets_with,
    segment_file,
)
from headrace.storage.inspect import (
    TEMPORARY_SUFFIXES,
    BatchValue,
    FileKind,
    OffsetValue,
    TimeValue,
    Unreadable,
    dump,
    dump_log,
    kind_of,
)
from headrace.storage.log_port import NO_TIMESTAMP
from headrace.storage.transaction_index import AbortedTransaction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.environment.ports import Disk

FINDINGS_MAX = 1000


class FindingKind(Enum):
    """What is wrong. The values are stable: scripts may look for them."""

    BAD_CHECKSUM = "bad-checksum"
    BAD_RECORDS = "bad-records"
    NO_BATCH = "no-batch"
    TORN_TAIL = "torn-tail"
    OFFSETS_NOT_RISING = "offsets-not-rising"
    SEGMENTS_OVERLAP = "segments-overlap"
    INDEX_UNREADABLE = "index-unreadable"
    INDEX_NOT_RISING = "index-not-rising"
    INDEX_POINTS_NOWHERE = "index-points-nowhere"
    TIME_INDEX_NOT_RISING = "time-index-not-rising"
    TIME_INDEX_WRONG = "time-index-wrong"
    TRANSACTION_INDEX_WRONG = "transaction-index-wrong"
    ORPHAN_INDEX = "orphan-index"
    SNAPSHOT_UNREADABLE = "snapshot-unreadable"
    CHECKPOINT_UNREADABLE = "checkpoint-unreadable"
    LEFT_OVER = "left-over"
    TOO_MANY = "too-many"


class Finding(NamedTuple):
    """``position`` is a byte of the file, or -1."""

    path: str
    kind: FindingKind
    position: int
    message: str


def verify(disk: Disk, path: str) -> list[Finding]:
    """Check a file, a partition's directory or a whole data directory."""
    if disk.is_directory(path):
        found = _verify_directory(disk, path.rstrip("/") or "/")
    elif kind_of(path) is FileKind.LOG:
        found = _verify_segment(disk, path)
    elif kind_of(path) is None:
        raise InvalidRequest(f"{path}: not a file of a log")
    else:
        found = _verify_small(disk, path)
    findings: list[Finding] = []
    for finding in found:
        if len(findings) >= FINDINGS_MAX:
            findings.append(
                Finding(path, FindingKind.TOO_MANY, -1, f"stopped after {FINDINGS_MAX} findings")
            )
            break
        findings.append(finding)
    return findings


def _verify_directory(disk: Disk, directory: str) -> Iterator[Finding]:
    names = disk.list(directory)
    bases = offsets_with(names, LOG_SUFFIX)
    end_offset = -1
    for base_offset in bases:
        path = segment_file(directory, base_offset, LOG_SUFFIX)
        if base_offset < end_offset:
            yield Finding(
                path, FindingKind.SEGMENTS_OVERLAP, 0, f"the segment before ends at {end_offset}"
            )
        check = _SegmentCheck(disk, path)
        yield from check.run()
        end_offset = max(end_offset, check.end_offset)
    for name in names:
        path = f"{directory}/{name}"
        if disk.is_directory(path):
            yield from _verify_directory(disk, path)
        else:
            yield from _verify_named(disk, path, name, set(bases))


def _verify_named(disk: Disk, path: str, name: str, bases: set[int]) -> Iterator[Finding]:
    """A file of a directory whose log files have been checked, with their indexes."""
    if name.endswith((*TEMPORARY_SUFFIXES, CUT_SUFFIX)):
        yield Finding(path, FindingKind.LEFT_OVER, -1, "left by an interrupted step or by recovery")
    elif offset_of(name) is not None and name.endswith(INDEX_SUFFIXES):
        if offset_of(name) not in bases:
            yield Finding(path, FindingKind.ORPHAN_INDEX, -1, "there is no log file to it")
    elif kind_of(path) not in (None, FileKind.LOG):
        yield from _verify_small(disk, path)


def _verify_segment(disk: Disk, path: str) -> Iterator[Finding]:
    return _SegmentCheck(disk, path).run()


def _verify_small(disk: Disk, path: str) -> Iterator[Finding]:
    """A file that is judged alone: an index's order, a snapshot, a checkpoint."""
    kind = kind_of(path)
    if kind is FileKind.OFFSET_INDEX:
        yield from _OffsetEntries(disk, path).findings
    elif kind is FileKind.TIME_INDEX:
        yield from _TimeEntries(disk, path).findings
    elif kind is FileKind.TRANSACTION_INDEX:
        yield from _verify_transactions(disk, path, None)
    else:
        is_snapshot = path.endswith(SNAPSHOT_SUFFIX)
        unreadable = (
            FindingKind.SNAPSHOT_UNREADABLE if is_snapshot else FindingKind.CHECKPOINT_UNREADABLE
        )
        for value in dump(disk, path):
            if isinstance(value, Unreadable):
                yield Finding(path, unreadable, -1, value.problem)


class _OffsetEntries:
    """The entries of an offset index, taken off one by one as their batches pass by."""

    def __init__(self, disk: Disk, path: str) -> None:
        self.findings: list[Finding] = []
        self._path = path
        self._entries: list[OffsetValue] = []
        self._next = 0
        for value in dump(disk, path) if disk.exists(path) else ():
            if isinstance(value, OffsetValue):
                self._add(value)
            elif isinstance(value, Unreadable):
                self._find(FindingKind.INDEX_UNREADABLE, -1, value.problem)

    def _add(self, value: OffsetValue) -> None:
        last = self._entries[-1] if self._entries else None
        if last and (value.offset <= last.offset or value.position <= last.position):
            self._find(FindingKind.INDEX_NOT_RISING, -1, f"{tuple(value)} after {tuple(last)}")
        else:
            self._entries.append(value)

    def pass_batch(self, batch: BatchValue) -> None:
        while self._next < len(self._entries):
            entry = self._entries[self._next]
            if entry.position > batch.position:
                return
            self._next += 1
            if entry.position < batch.position:
                self._find_nowhere(entry, "where no batch begins")
            elif entry.offset != batch.header.last_offset:
                self._find_nowhere(entry, f"whose batch ends at offset {batch.header.last_offset}")

    def pass_end(self, size_bytes: int) -> None:
        for entry in self._entries[self._next :]:
            self._find_nowhere(entry, f"beyond the batches, which end at byte {size_bytes}")

    def _find_nowhere(self, entry: OffsetValue, reason: str) -> None:
        message = f"offset {entry.offset} points to byte {entry.position}, {reason}"
        self._find(FindingKind.INDEX_POINTS_NOWHERE, entry.position, message)

    def _find(self, kind: FindingKind, position: int, message: str) -> None:
        self.findings.append(Finding(self._path, kind, position, message))


class _TimeEntries:
    """The entries of a time index, likewise."""

    def __init__(self, disk: Disk, path: str) -> None:
        self.findings: list[Finding] = []
        self._path = path
        self._entries: list[TimeValue] = []
        self._next = 0
        self._greatest_ms = NO_TIMESTAMP
        for value in dump(disk, path) if disk.exists(path) else ():
            if isinstance(value, TimeValue):
                self._add(value)
            elif isinstance(value, Unreadable):
                self._find(FindingKind.INDEX_UNREADABLE, value.problem)

    def _add(self, value: TimeValue) -> None:
        last = self._entries[-1] if self._entries else None
        if last and (value.timestamp_ms <= last.timestamp_ms or value.offset < last.offset):
            self._find(FindingKind.TIME_INDEX_NOT_RISING, f"{tuple(value)} after {tuple(last)}")
        else:
            self._entries.append(value)

    def pass_batch(self, batch: BatchValue) -> None:
        """An entry names the greatest timestamp up to the batch that holds its offset."""
        self._greatest_ms = max(self._greatest_ms, batch.header.max_timestamp)
        while self._next < len(self._entries):
            entry = self._entries[self._next]
            if entry.offset > batch.header.last_offset:
                return
            self._next += 1
            if entry.timestamp_ms != self._greatest_ms:
                message = (
                    f"timestamp {entry.timestamp_ms} for offset {entry.offset},"
                    f" where the greatest so far is {self._greatest_ms}"
                )
                self._find(FindingKind.TIME_INDEX_WRONG, message)

    def pass_end(self) -> None:
        for entry in self._entries[self._next :]:
            self._find(
                FindingKind.TIME_INDEX_WRONG, f"offset {entry.offset} lies beyond the batches"
            )

    def _find(self, kind: FindingKind, message: str) -> None:
        self.findings.append(Finding(self._path, kind, -1, message))


class _SegmentCheck:
    """One log file with the indexes beside it."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        self.end_offset = offset_of(path.rpartition("/")[2]) or 0
        self._end_position = 0
        # A log that was given alone, or under a temporary name, has no indexes to compare with.
        stem = path.removesuffix(LOG_SUFFIX)
        self._offsets = _OffsetEntries(disk, stem + OFFSET_INDEX_SUFFIX)
        self._times = _TimeEntries(disk, stem + TIME_INDEX_SUFFIX)
        self._transaction_path = stem + TRANSACTION_INDEX_SUFFIX

    def run(self) -> Iterator[Finding]:
        for value in dump_log(self._disk, self._path, with_records=True):
            if isinstance(value, BatchValue):
                yield from self._batch(value)
            else:
                yield self._unreadable(value)
        self._offsets.pass_end(self._end_position)
        self._times.pass_end()
        yield from self._offsets.findings
        yield from self._times.findings
        if self._disk.exists(self._transaction_path):
            yield from _verify_transactions(self._disk, self._transaction_path, self.end_offset)

    def _batch(self, batch: BatchValue) -> Iterator[Finding]:
        header = batch.header
        if not batch.crc_is_valid:
            yield self._finding(FindingKind.BAD_CHECKSUM, batch.position, _named(batch))
        elif batch.problem is not None:
            message = f"{_named(batch)}: {batch.problem}"
            yield self._finding(FindingKind.BAD_RECORDS, batch.position, message)
        if header.base_offset < self.end_offset or header.last_offset < header.base_offset:
            message = f"{_named(batch)}, though offset {self.end_offset} is next"
            yield self._finding(FindingKind.OFFSETS_NOT_RISING, batch.position, message)
        self.end_offset = max(self.end_offset, header.last_offset + 1)
        self._end_position = batch.position + header.size_bytes
        self._offsets.pass_batch(batch)
        self._times.pass_batch(batch)

    def _unreadable(self, value: Unreadable) -> Finding:
        kind = FindingKind.TORN_TAIL if value.is_tail else FindingKind.NO_BATCH
        return self._finding(kind, value.position, value.problem)

    def _finding(self, kind: FindingKind, position: int, message: str) -> Finding:
        return Finding(self._path, kind, position, message)


def _named(batch: BatchValue) -> str:
    return f"batch with offsets {batch.header.base_offset} to {batch.header.last_offset}"


def _verify_transactions(disk: Disk, path: str, end_offset: int | None) -> Iterator[Finding]:
    """``end_offset`` is that of the segment, if it is known."""
    kind = FindingKind.TRANSACTION_INDEX_WRONG
    last_before = -1
    for value in dump(disk, path):
        if isinstance(value, Unreadable):
            yield Finding(path, FindingKind.INDEX_UNREADABLE, -1, value.problem)
        elif isinstance(value, AbortedTransaction):
            if not 0 <= value.first_offset <= value.last_offset:
                yield Finding(path, kind, -1, f"impossible entry {tuple(value)}")
            elif end_offset is not None and value.last_offset >= end_offset:
                yield Finding(path, kind, -1, f"offset {value.last_offset} lies beyond the batches")
            elif value.last_offset <= last_before:
                yield Finding(path, kind, -1, f"offset {value.last_offset} after {last_before}")
            last_before = max(last_before, value.last_offset)

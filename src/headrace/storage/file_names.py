"""Names of the files of a log, as Kafka 4 chooses them: twenty digits of offset, then a suffix."""

from __future__ import annotations

LOG_SUFFIX = ".log"
OFFSET_INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"
INDEX_SUFFIXES = (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
SEGMENT_SUFFIXES = (LOG_SUFFIX, *INDEX_SUFFIXES)

DELETED_SUFFIX = ".deleted"
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"
CUT_SUFFIX = ".cut"
"""Bytes that recovery cut off a damaged log and kept for a person to look at."""

DELETED_DIRECTORY_SUFFIX = "-delete"
STRAY_DIRECTORY_SUFFIX = "-stray"
"""A directory of another topic with the same name, set aside."""

PARTITION_METADATA = "partition.metadata"
LEADER_EPOCHS = "leader-epoch-checkpoint"
SYNCED_FROM = "headrace-fsync-checkpoint"
"""Ours alone: from which offset on the write-ahead log has all of this log (durability=fsync)."""

SYNC_FAILED = "headrace-sync-failed"
"""Ours alone, and empty: a sync failed, so the system may show bytes that the medium lacks."""

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
STABLE_OFFSETS = "headrace-stable-offset-checkpoint"
"""Ours alone: ends and stable offsets at a clean stop, so that no log need be read at start."""

_OFFSET_DIGITS = 20


def segment_file(directory: str, base_offset: int, suffix: str) -> str:
    return f"{directory}/{base_offset:020d}{suffix}"


def offset_of(name: str) -> int | None:
    """The base offset that a file name begins with, or None if it is no such name."""
    digits = name[:_OFFSET_DIGITS]
    if len(digits) == _OFFSET_DIGITS and digits.isdecimal() and digits.isascii():
        return int(digits)
    return None


def offsets_with(names: list[str], suffix: str) -> list[int]:
    """Base offsets of all names that are exactly an offset and ``suffix``, ascending."""
    length = _OFFSET_DIGITS + len(suffix)
    found = (offset_of(name) for name in names if len(name) == length and name.endswith(suffix))
    return sorted(offset for offset in found if offset is not None)

"""Looking into the files of a log, ours or Kafka's, without changing a byte of them.

``dump`` turns one file into plain values, one per batch, entry or line. It goes on as far as the
file makes sense and says in the last value where it stopped doing so; ``inspect_verify`` judges.
"""

from __future__ import annotations

from contextlib import closing
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import DamagedLog, HeadraceError, InvalidRequest
from headrace.records.decode import decode_records
from headrace.records.header import HEADER_SIZE, BatchHeader, crc_is_valid
from headrace.storage import checkpoints
from headrace.storage.batch_walk import walk_batches
from headrace.storage.file_names import (
    CLEANED_SUFFIX,
    CLEANER_OFFSETS,
    DELETED_SUFFIX,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    SNAPSHOT_SUFFIX,
    STABLE_OFFSETS,
    SWAP_SUFFIX,
    SYNCED_FROM,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    offset_of,
)
from headrace.storage.metadata_files import META_PROPERTIES, parse_properties
from headrace.storage.offset_index import ENTRY as OFFSET_ENTRY
from headrace.storage.producer_snapshot import decode_snapshot
from headrace.storage.time_index import ENTRY as TIME_ENTRY
from headrace.storage.transaction_index import ENTRY as TRANSACTION_ENTRY
from headrace.storage.transaction_index import AbortedTransaction

if TYPE_CHECKING:
    import struct
    from collections.abc import Callable, Iterator

    from headrace.environment.ports import Disk
    from headrace.records.record import Record
    from headrace.storage.producer_state import Producer

SMALL_FILE_BYTES_MAX = 64 * 1024 * 1024
"""Indexes, snapshots and checkpoints are read as a whole: Kafka's largest index has 10 MiB."""


class FileKind(Enum):
    """What a file of a data directory is, by its name."""

    LOG = "log"
    OFFSET_INDEX = "offset index"
    TIME_INDEX = "time index"
    TRANSACTION_INDEX = "transaction index"
    SNAPSHOT = "producer snapshot"
    OFFSETS = "offset checkpoint"
    STABLE_OFFSETS = "stable offset checkpoint"
    SINGLE_OFFSET = "fsync checkpoint"
    EPOCHS = "leader epoch checkpoint"
    PARTITION_METADATA = "partition metadata"
    PROPERTIES = "properties"


_KIND_BY_SUFFIX = {
    LOG_SUFFIX: FileKind.LOG,
    OFFSET_INDEX_SUFFIX: FileKind.OFFSET_INDEX,
    TIME_INDEX_SUFFIX: FileKind.TIME_INDEX,
    TRANSACTION_INDEX_SUFFIX: FileKind.TRANSACTION_INDEX,
    SNAPSHOT_SUFFIX: FileKind.SNAPSHOT,
}
_KIND_BY_NAME = {
    RECOVERY_POINTS: FileKind.OFFSETS,
    LOG_START_OFFSETS: FileKind.OFFSETS,
    HIGH_WATERMARKS: FileKind.OFFSETS,
    CLEANER_OFFSETS: FileKind.OFFSETS,
    STABLE_OFFSETS: FileKind.STABLE_OFFSETS,
    SYNCED_FROM: FileKind.SINGLE_OFFSET,
    LEADER_EPOCHS: FileKind.EPOCHS,
    PARTITION_METADATA: FileKind.PARTITION_METADATA,
    META_PROPERTIES: FileKind.PROPERTIES,
}
TEMPORARY_SUFFIXES = (CLEANED_SUFFIX, SWAP_SUFFIX, DELETED_SUFFIX)


class BatchValue(NamedTuple):
    """One batch. ``problem`` says what is wrong with it; then there are no records."""

    position: int
    header: BatchHeader
    crc_is_valid: bool
    records: tuple[Record, ...]
    problem: str | None


class OffsetValue(NamedTuple):
    offset: int
    position: int


class TimeValue(NamedTuple):
    timestamp_ms: int
    offset: int


class ProducerValue(NamedTuple):
    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    last_timestamp_ms: int
    coordinator_epoch: int
    transaction_start_offset: int


class PartitionOffsetValue(NamedTuple):
    topic: str
    partition: int
    offset: int


class StableOffsetValue(NamedTuple):
    topic: str
    partition: int
    end_offset: int
    last_stable_offset: int


class EpochValue(NamedTuple):
    epoch: int
    start_offset: int


class NamedValue(NamedTuple):
    """A property or another single value."""

    name: str
    value: str


class Unreadable(NamedTuple):
    """From this byte on (or altogether, -1) the file makes no sense."""

    position: int
    problem: str
    is_tail: bool = False
    """Only the end is missing: a write was cut off, which recovery mends without loss."""


Value = (
    BatchValue
    | OffsetValue
    | TimeValue
    | AbortedTransaction
    | ProducerValue
    | PartitionOffsetValue
    | StableOffsetValue
    | EpochValue
    | NamedValue
    | Unreadable
)


def kind_of(path: str) -> FileKind | None:
    """By the name alone; a temporary suffix does not matter. None for files we do not know."""
    name = path.rpartition("/")[2]
    for suffix in TEMPORARY_SUFFIXES:
        name = name.removesuffix(suffix)
    if name in _KIND_BY_NAME:
        return _KIND_BY_NAME[name]
    if offset_of(name) is not None:
        return _KIND_BY_SUFFIX.get(name[name.find(".") :])
    return None


def base_offset_of(path: str) -> int:
    """The offset that a segment's file is named after."""
    offset = offset_of(path.rpartition("/")[2])
    if offset is None:
        raise InvalidRequest(f"{path}: the name of a segment's file begins with twenty digits")
    return offset


def dump(disk: Disk, path: str, *, with_records: bool = False) -> Iterator[Value]:
    """The content of one file, value by value. InvalidRequest if its kind is unknown."""
    kind = kind_of(path)
    if kind is None:
        raise InvalidRequest(f"{path}: not a file of a log (known are {_known_names()})")
    if kind is FileKind.LOG:
        yield from dump_log(disk, path, with_records=with_records)
        return
    try:
        yield from _SMALL[kind](disk, path)
    except (DamagedLog, ValueError) as error:
        yield Unreadable(-1, str(error))


def dump_log(
    disk: Disk, path: str, *, with_records: bool = False
) -> Iterator[BatchValue | Unreadable]:
    """All batches; the bytes after the last whole one are named if there are any."""
    end = 0
    with closing(disk.open(path)) as file:
        size = file.size()
        try:
            for position, fields, batch in walk_batches(file, 0, size):
                yield _batch_value(position, BatchHeader._make(fields), batch, with_records)
                end = position + len(batch)
        except DamagedLog as error:
            # Zeros to write into, or space that a crash left without its bytes: no damage.
            is_tail = not any(file.read_at(end, HEADER_SIZE))
            yield Unreadable(end, str(error), is_tail)
            return
        if end < size:
            yield Unreadable(end, f"the last {size - end} bytes are no whole batch", is_tail=True)


def _batch_value(
    position: int, header: BatchHeader, batch: memoryview, with_records: bool
) -> BatchValue:
    if not crc_is_valid(batch, 0, len(batch)):
        return BatchValue(position, header, False, (), "the checksum is wrong")
    if not with_records:
        return BatchValue(position, header, True, (), None)
    try:
        records = decode_records(batch, check_crc=False)
    except HeadraceError as error:
        return BatchValue(position, header, True, (), error.message)
    return BatchValue(position, header, True, tuple(records), None)


def read_small(disk: Disk, path: str) -> bytes:
    """A whole file that cannot sensibly be large."""
    size = disk.size(path)
    if size > SMALL_FILE_BYTES_MAX:
        raise DamagedLog(f"{path}: {size} bytes are too many, the limit is {SMALL_FILE_BYTES_MAX}")
    return disk.read_file(path)


def entries_of(disk: Disk, path: str, entry: struct.Struct) -> Iterator[tuple[int, ...]]:
    """Raw entries of an index, without the zeros at the end of a preallocated one."""
    data = read_small(disk, path)
    whole = len(data) // entry.size * entry.size
    used = len(data[:whole].rstrip(b"\0"))
    count = -(-used // entry.size)
    yield from entry.iter_unpack(data[: count * entry.size])
    if whole < len(data):
        raise DamagedLog(f"{path}: size {len(data)} is no multiple of {entry.size}")


def _dump_offset_index(disk: Disk, path: str) -> Iterator[Value]:
    base_offset = base_offset_of(path)
    for relative, position in entries_of(disk, path, OFFSET_ENTRY):
        yield OffsetValue(base_offset + relative, position)


def _dump_time_index(disk: Disk, path: str) -> Iterator[Value]:
    base_offset = base_offset_of(path)
    for timestamp_ms, relative in entries_of(disk, path, TIME_ENTRY):
        yield TimeValue(timestamp_ms, base_offset + relative)


def _dump_transaction_index(disk: Disk, path: str) -> Iterator[Value]:
    for _, *fields in entries_of(disk, path, TRANSACTION_ENTRY):
        yield AbortedTransaction(*fields)


def _dump_snapshot(disk: Disk, path: str) -> Iterator[Value]:
    for producer in decode_snapshot(read_small(disk, path), path):
        yield _producer_value(producer)


def _producer_value(producer: Producer) -> ProducerValue:
    return ProducerValue(
        producer.producer_id,
        producer.epoch,
        producer.last_sequence,
        producer.last_offset,
        producer.last_timestamp_ms,
        producer.coordinator_epoch,
        producer.transaction_start,
    )


def _dump_offsets(disk: Disk, path: str) -> Iterator[Value]:
    for partition, offset in checkpoints.read_offsets(disk, path).items():
        yield PartitionOffsetValue(partition.topic, partition.partition, offset)


def _dump_stable_offsets(disk: Disk, path: str) -> Iterator[Value]:
    for partition, (end, stable) in checkpoints.read_stable_offsets(disk, path).items():
        yield StableOffsetValue(partition.topic, partition.partition, end, stable)


def _dump_single_offset(disk: Disk, path: str) -> Iterator[Value]:
    yield NamedValue("offset", str(checkpoints.read_single_offset(disk, path)))


def _dump_epochs(disk: Disk, path: str) -> Iterator[Value]:
    for epoch, start_offset in checkpoints.read_epochs(disk, path):
        yield EpochValue(epoch, start_offset)


def _dump_partition_metadata(disk: Disk, path: str) -> Iterator[Value]:
    yield NamedValue("topic_id", checkpoints.read_partition_metadata(disk, path).hex())


def _dump_properties(disk: Disk, path: str) -> Iterator[Value]:
    for name, value in parse_properties(read_small(disk, path).decode()).items():
        yield NamedValue(name, value)


_SMALL: dict[FileKind, Callable[[Disk, str], Iterator[Value]]] = {
    FileKind.OFFSET_INDEX: _dump_offset_index,
    FileKind.TIME_INDEX: _dump_time_index,
    FileKind.TRANSACTION_INDEX: _dump_transaction_index,
    FileKind.SNAPSHOT: _dump_snapshot,
    FileKind.OFFSETS: _dump_offsets,
    FileKind.STABLE_OFFSETS: _dump_stable_offsets,
    FileKind.SINGLE_OFFSET: _dump_single_offset,
    FileKind.EPOCHS: _dump_epochs,
    FileKind.PARTITION_METADATA: _dump_partition_metadata,
    FileKind.PROPERTIES: _dump_properties,
}


def _known_names() -> str:
    return ", ".join([*(f"*{suffix}" for suffix in _KIND_BY_SUFFIX), *_KIND_BY_NAME])

"""What a batch must obey before it may enter a log.

The checks of a client's batch are plain comparisons on the header, unpacked once; every failure
goes to a cold function that finds out which rule was broken. Only topics whose settings demand it
(compacted, LogAppendTime, own compression, a lower limit for timestamps) look any further.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from crc32c import crc32c

from headrace.model.errors import (
    BatchLargerThanSegment,
    CorruptRecord,
    HeadraceError,
    InvalidRecord,
    InvalidTimestamp,
    RecordTooLarge,
    UnsupportedCompression,
)
from headrace.records.build import build_batch
from headrace.records.compression import Compression
from headrace.records.decode import decode_records, null_key_indexes
from headrace.records.header import (
    COMPRESSION_MASK,
    CONTROL,
    DELETE_HORIZON,
    HEADER,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    LOG_APPEND_TIME,
    MAGIC,
    TRANSACTIONAL,
    stamp_log_append_time,
)

if TYPE_CHECKING:
    from headrace.config.topic import TopicConfig
    from headrace.environment.ports import Buffer
    from headrace.storage.batch_walk import RawHeader

BATCH_RECORDS_MAX = 1_000_000
"""A kilobyte can claim millions of records, and whoever opens the batch has to walk through them.
No client collects more (it is librdkafka's own limit)."""
OPENED_RECORDS_MAX = 100_000
"""The same where the broker itself walks through them, while others wait."""

_CRC_FROM = 21
_COMPRESSION_MAX = int(Compression.ZSTD)
_FORBIDDEN_TO_CLIENTS = CONTROL | DELETE_HORIZON | LOG_APPEND_TIME
_LONG_MAX = 2**63 - 1
_LZ4_LEVEL_FAST = 9
_unpack_header = HEADER.unpack_from


class BatchRules:
    """A topic's rules for batches, as plain numbers."""

    __slots__ = (
        "after_max_ms",
        "before_max_ms",
        "compression",
        "compression_level",
        "decompressed_bytes_max",
        "is_compacted",
        "is_demanding",
        "is_log_append_time",
        "opens_batches",
        "segment_bytes",
        "size_max_bytes",
    )

    def __init__(self, config: TopicConfig, decompressed_bytes_max: int) -> None:
        self.segment_bytes = config.internal_segment_bytes or config.segment_bytes
        self.size_max_bytes = min(config.max_message_bytes, self.segment_bytes)
        self.is_log_append_time = config.message_timestamp_type == "LogAppendTime"
        self.after_max_ms = config.message_timestamp_after_max_ms
        self.before_max_ms = config.message_timestamp_before_max_ms
        if self.is_log_append_time:
            self.after_max_ms = self.before_max_ms = _LONG_MAX
        self.is_compacted = "compact" in config.cleanup_policy
        self.compression = _compression_of(config.compression_type)
        self.compression_level = _compression_level(self.compression, config)
        self.decompressed_bytes_max = decompressed_bytes_max
        self.opens_batches = (
            self.is_compacted or self.compression is not None or self.before_max_ms != _LONG_MAX
        )
        self.is_demanding = self.is_log_append_time or self.opens_batches


def _compression_of(name: str) -> Compression | None:
    if name == "producer":
        return None
    return Compression.NONE if name == "uncompressed" else Compression[name.upper()]


def _compression_level(compression: Compression | None, config: TopicConfig) -> int | None:
    """None where the codec has no levels, or the usual one is meant."""
    if compression is Compression.GZIP:
        return config.compression_gzip_level
    if compression is Compression.ZSTD:
        return config.compression_zstd_level
    if compression is Compression.LZ4:
        level = config.compression_lz4_level
        # As in Kafka, the default stands for the fast compressor; any other for the thorough one.
        return None if level == _LZ4_LEVEL_FAST else level
    return None


def check_client_batch(batch: Buffer, rules: BatchRules, now_ms: int) -> RawHeader:
    """The header of a batch that a client may append; raises the model's errors otherwise."""
    size = len(batch)
    if size < HEADER_SIZE:
        raise CorruptRecord(f"{size} bytes are too few for a batch")
    header: RawHeader = _unpack_header(batch)
    (
        base_offset,
        batch_length,
        _,
        magic,
        crc,
        attributes,
        last_offset_delta,
        _,
        max_timestamp_ms,
        producer_id,
        _,
        base_sequence,
        record_count,
    ) = header
    if (
        batch_length != size - LENGTH_OVERHEAD
        or magic != MAGIC
        or base_offset != 0
        or size > rules.size_max_bytes
        or attributes & _FORBIDDEN_TO_CLIENTS
        or attributes & COMPRESSION_MASK > _COMPRESSION_MAX
        or not 0 <= last_offset_delta < BATCH_RECORDS_MAX
        or last_offset_delta + 1 != record_count
        or max_timestamp_ms - now_ms > rules.after_max_ms
        or (base_sequence < 0 and producer_id >= 0)
        or (attributes & TRANSACTIONAL and producer_id < 0)
        or crc32c(memoryview(batch)[_CRC_FROM:]) != crc
    ):
        raise _client_fault(batch, header, rules, now_ms)
    return header


def _client_fault(
    batch: Buffer, header: RawHeader, rules: BatchRules, now_ms: int
) -> HeadraceError:
    """Which rule a client's batch broke; in the order in which Kafka looks."""
    size, whole = len(batch), header[1] + LENGTH_OVERHEAD
    if header[3] != MAGIC:
        return InvalidRecord(f"batch has magic {header[3]}; only {MAGIC} is accepted")
    if HEADER_SIZE <= whole < size:
        return InvalidRecord("a partition's records must be exactly one batch")
    if whole != size:
        return CorruptRecord(f"batch claims {whole} bytes, {size} are there")
    if header[0] != 0:
        return InvalidRecord(f"base offset of a client's batch must be 0, not {header[0]}")
    if size > rules.segment_bytes:
        return BatchLargerThanSegment(f"batch of {size} bytes, segments have {rules.segment_bytes}")
    if size > rules.size_max_bytes:
        return RecordTooLarge(f"batch of {size} bytes, the topic takes {rules.size_max_bytes}")
    if crc32c(memoryview(batch)[_CRC_FROM:]) != header[4]:
        return CorruptRecord("checksum of the batch is wrong")
    return _client_attribute_fault(header) or _timestamp_fault(header[8], now_ms, rules)


def _client_attribute_fault(header: RawHeader) -> HeadraceError | None:
    attributes, last_offset_delta, producer_id, record_count = (
        header[5],
        header[6],
        header[9],
        header[12],
    )
    if attributes & CONTROL:
        return InvalidRecord("clients must not write control batches")
    if attributes & DELETE_HORIZON:
        return InvalidRecord("clients must not set a delete horizon")
    if attributes & LOG_APPEND_TIME:
        return InvalidTimestamp("a producer must not set the timestamp type LogAppendTime")
    if attributes & COMPRESSION_MASK > _COMPRESSION_MAX:
        return UnsupportedCompression(f"unknown compression {attributes & COMPRESSION_MASK}")
    if record_count <= 0 or last_offset_delta + 1 != record_count:
        return InvalidRecord(
            f"batch has {record_count} records and last offset delta {last_offset_delta}"
        )
    if record_count > BATCH_RECORDS_MAX:
        return RecordTooLarge(f"batch of {record_count} records, at most {BATCH_RECORDS_MAX} fit")
    if producer_id >= 0 and header[11] < 0:
        return InvalidRecord(f"producer {producer_id} sent base sequence {header[11]}")
    if attributes & TRANSACTIONAL and producer_id < 0:
        return InvalidRecord("a transactional batch needs a producer id")
    return None


def _timestamp_fault(timestamp_ms: int, now_ms: int, rules: BatchRules) -> InvalidTimestamp:
    return InvalidTimestamp(
        f"timestamp {timestamp_ms} is outside of the accepted range: from {rules.before_max_ms} ms"
        f" before to {rules.after_max_ms} ms after the broker's time {now_ms}"
    )


def check_coordinator_batch(batch: Buffer, rules: BatchRules) -> RawHeader:
    """Framing only: the writer is a part of this broker."""
    size = len(batch)
    if size < HEADER_SIZE:
        raise CorruptRecord(f"{size} bytes are too few for a batch")
    header: RawHeader = _unpack_header(batch)
    if header[1] != size - LENGTH_OVERHEAD or header[3] != MAGIC or header[6] < 0:
        raise CorruptRecord(f"batch of {size} bytes claims {header[1] + LENGTH_OVERHEAD}")
    if size > rules.segment_bytes:
        raise BatchLargerThanSegment(f"batch of {size} bytes, segments have {rules.segment_bytes}")
    return header


def apply_rules(
    batch: bytearray | memoryview, header: RawHeader, rules: BatchRules, now_ms: int
) -> tuple[bytearray | memoryview, RawHeader]:
    """Do what a demanding topic asks of a client's batch; what to store, and its header."""
    if header[6] >= OPENED_RECORDS_MAX and rules.opens_batches:
        raise RecordTooLarge(
            f"batch of {header[6] + 1} records, at most {OPENED_RECORDS_MAX} fit where batches"
            " are opened (compaction, another compression, a limit on old timestamps)"
        )
    if rules.is_compacted:
        _raise_if_null_keys(null_key_indexes(batch, size_max=rules.decompressed_bytes_max))
    if rules.before_max_ms != _LONG_MAX:
        _raise_if_too_old(batch, rules, now_ms)
    if rules.compression is not None and header[5] & COMPRESSION_MASK != rules.compression:
        batch = _recompressed(batch, header, rules)
    if rules.is_log_append_time:
        stamp_log_append_time(batch, 0, now_ms)
    if len(batch) > rules.size_max_bytes:
        _raise_too_large_now(len(batch), rules)
    return batch, _unpack_header(batch)


def _raise_if_null_keys(indexes: list[int]) -> None:
    if indexes:
        message = "a record of a compacted topic must have a key"
        raise InvalidRecord(message, record_errors=tuple((index, message) for index in indexes))


def _raise_if_too_old(batch: Buffer, rules: BatchRules, now_ms: int) -> None:
    oldest_ms = now_ms - rules.before_max_ms
    records = decode_records(batch, size_max=rules.decompressed_bytes_max)
    too_old = [
        (number, f"timestamp {record.timestamp_ms} is before {oldest_ms}")
        for number, record in enumerate(records)
        if 0 <= record.timestamp_ms < oldest_ms
    ]
    if too_old:
        raise InvalidTimestamp("records are too old for the topic", record_errors=tuple(too_old))


def _recompressed(batch: Buffer, header: RawHeader, rules: BatchRules) -> bytearray:
    records = decode_records(batch, size_max=rules.decompressed_bytes_max)
    return build_batch(
        records,
        compression=rules.compression or Compression.NONE,
        compression_level=rules.compression_level,
        producer_id=header[9],
        producer_epoch=header[10],
        base_sequence=header[11],
        transactional=bool(header[5] & TRANSACTIONAL),
    )


def _raise_too_large_now(size: int, rules: BatchRules) -> NoReturn:
    raise RecordTooLarge(
        f"batch has {size} bytes in the topic's compression, the topic takes {rules.size_max_bytes}"
    )

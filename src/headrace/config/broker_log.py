"""Broker options about logs: the defaults of topics, and the work done on all logs.

A topic's own setting wins over these. Where several options mean the same thing in different units
(``log.retention.ms``, ``.minutes``, ``.hours``), the finest one that is set wins.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.config import declare
from headrace.config.declare import BYTES, HIGH, HOURS, MILLISECONDS, MINUTES
from headrace.config.option import DOUBLE_MAX, LONG_MAX

NO_REMOTE_TIER = "there is no remote tier yet."
NO_SECOND_REPLICA = "on a single broker a partition has one replica."
NO_PREALLOCATION = "segment files grow as they are written."


@dataclass(frozen=True, kw_only=True)
class LogSettings:
    """Part of ``BrokerConfig``."""

    log_segment_bytes: int = declare.integer(
        "log.segment.bytes",
        2**30,
        "Size at which a segment file is closed and a new one begun.",
        unit=BYTES,
        minimum=2**20,
        importance=HIGH,
        dynamic=True,
    )
    log_roll_ms: int | None = declare.optional_long(
        "log.roll.ms",
        "Age at which a segment is closed even if it is small; else log.roll.hours.",
        unit=MILLISECONDS,
        minimum=1,
        importance=HIGH,
        dynamic=True,
    )
    log_roll_hours: int = declare.integer(
        "log.roll.hours",
        168,
        "Age at which a segment is closed, when log.roll.ms is not set.",
        unit=HOURS,
        minimum=1,
        importance=HIGH,
    )
    log_roll_jitter_ms: int | None = declare.optional_long(
        "log.roll.jitter.ms",
        "Random part taken off the roll age, so that logs do not all roll at once.",
        unit=MILLISECONDS,
        minimum=0,
        importance=HIGH,
        dynamic=True,
    )
    log_roll_jitter_hours: int = declare.integer(
        "log.roll.jitter.hours",
        0,
        "As log.roll.jitter.ms, which wins over it.",
        unit=HOURS,
        minimum=0,
        importance=HIGH,
    )
    log_retention_ms: int | None = declare.optional_long(
        "log.retention.ms",
        "How long records are kept; -1 for ever; else log.retention.minutes.",
        unit=MILLISECONDS,
        minimum=-1,
        importance=HIGH,
        dynamic=True,
    )
    log_retention_minutes: int | None = declare.optional_integer(
        "log.retention.minutes",
        "How long records are kept, when log.retention.ms is not set; else log.retention.hours.",
        unit=MINUTES,
        minimum=-1,
        importance=HIGH,
    )
    log_retention_hours: int = declare.integer(
        "log.retention.hours",
        168,
        "How long records are kept, when neither log.retention.ms nor .minutes is set.",
        unit=HOURS,
        minimum=-1,
        importance=HIGH,
    )
    log_retention_bytes: int = declare.long(
        "log.retention.bytes",
        -1,
        "Size of a partition above which its oldest segments are deleted; -1 for no limit.",
        unit=BYTES,
        importance=HIGH,
        dynamic=True,
    )
    log_retention_check_interval_ms: int = declare.long(
        "log.retention.check.interval.ms",
        300_000,
        "How often logs are looked at for retention.",
        unit=MILLISECONDS,
        minimum=1,
    )
    log_initial_task_delay_ms: int = declare.long(
        "log.initial.task.delay.ms",
        30_000,
        "Time after the start in which nothing is deleted: enough to change a wrong setting.",
        unit=MILLISECONDS,
        minimum=0,
        internal=True,
    )
    log_cleanup_policy: frozenset[str] = declare.item_set(
        "log.cleanup.policy",
        "delete",
        "What happens to old records: delete by age and size, compact by key, or both.",
        choices=("compact", "delete"),
        dynamic=True,
    )
    log_index_size_max_bytes: int = declare.integer(
        "log.index.size.max.bytes",
        10 * 2**20,
        "Size of an offset index at which a segment rolls.",
        unit=BYTES,
        minimum=4,
        dynamic=True,
    )
    log_index_interval_bytes: int = declare.integer(
        "log.index.interval.bytes",
        4096,
        "An index entry is written after so many bytes of log.",
        unit=BYTES,
        minimum=0,
        dynamic=True,
    )
    log_flush_interval_messages: int = declare.long(
        "log.flush.interval.messages",
        LONG_MAX,
        "Number of records after which a log is flushed to the medium.",
        unit="records",
        minimum=1,
        importance=HIGH,
        dynamic=True,
    )
    log_flush_interval_ms: int | None = declare.optional_long(
        "log.flush.interval.ms",
        "Age of unflushed records at which a log is flushed.",
        unit=MILLISECONDS,
        minimum=0,
        importance=HIGH,
        dynamic=True,
    )
    log_flush_scheduler_interval_ms: int = declare.long(
        "log.flush.scheduler.interval.ms",
        LONG_MAX,
        "How often logs are looked at for flushing; stands in for log.flush.interval.ms.",
        unit=MILLISECONDS,
        minimum=1,
        importance=HIGH,
    )
    log_flush_offset_checkpoint_interval_ms: int = declare.integer(
        "log.flush.offset.checkpoint.interval.ms",
        60_000,
        "How often the recovery points are written: what lies before them needs no scan.",
        unit=MILLISECONDS,
        minimum=0,
        importance=HIGH,
    )
    log_flush_start_offset_checkpoint_interval_ms: int = declare.integer(
        "log.flush.start.offset.checkpoint.interval.ms",
        60_000,
        "How often the log start offsets are written.",
        unit=MILLISECONDS,
        minimum=0,
        importance=HIGH,
        no_effect="a log start offset is written whenever it moves.",
    )
    log_segment_delete_delay_ms: int = declare.long(
        "log.segment.delete.delay.ms",
        60_000,
        "Time between renaming a file for deletion and removing it.",
        unit=MILLISECONDS,
        minimum=0,
        importance=HIGH,
        dynamic=True,
    )
    log_preallocate: bool = declare.boolean(
        "log.preallocate",
        False,
        "Give a new segment file its full size at once.",
        dynamic=True,
        no_effect=NO_PREALLOCATION,
    )
    log_message_timestamp_type: str = declare.text(
        "log.message.timestamp.type",
        "CreateTime",
        "Whether records keep the producer's time or get the broker's.",
        choices=("CreateTime", "LogAppendTime"),
        dynamic=True,
    )
    log_message_timestamp_before_max_ms: int = declare.long(
        "log.message.timestamp.before.max.ms",
        LONG_MAX,
        "How far in the past a producer's timestamp may lie.",
        unit=MILLISECONDS,
        minimum=0,
        dynamic=True,
    )
    log_message_timestamp_after_max_ms: int = declare.long(
        "log.message.timestamp.after.max.ms",
        3_600_000,
        "How far in the future a producer's timestamp may lie.",
        unit=MILLISECONDS,
        minimum=0,
        dynamic=True,
    )
    log_local_retention_ms: int = declare.long(
        "log.local.retention.ms",
        -2,
        "Age limit of the local part of tiered logs; -2: as log.retention.",
        unit=MILLISECONDS,
        minimum=-2,
        dynamic=True,
        no_effect=NO_REMOTE_TIER,
    )
    log_local_retention_bytes: int = declare.long(
        "log.local.retention.bytes",
        -2,
        "Size limit of the local part of tiered logs; -2: as log.retention.",
        unit=BYTES,
        minimum=-2,
        dynamic=True,
        no_effect=NO_REMOTE_TIER,
    )
    log_cleaner_enable: bool = declare.boolean(
        "log.cleaner.enable",
        True,
        "Whether compaction runs at all.",
    )
    log_cleaner_backoff_ms: int = declare.long(
        "log.cleaner.backoff.ms",
        15_000,
        "How often logs are looked at for compaction.",
        unit=MILLISECONDS,
        minimum=0,
        dynamic=True,
    )
    log_cleaner_dedupe_buffer_size: int = declare.long(
        "log.cleaner.dedupe.buffer.size",
        128 * 2**20,
        "Memory for the keys of one compaction run; what does not fit waits for the next run.",
        unit=BYTES,
        minimum=2**20,
        dynamic=True,
    )
    log_cleaner_io_max_bytes_per_second: float = declare.double(
        "log.cleaner.io.max.bytes.per.second",
        DOUBLE_MAX,
        "Speed limit of compaction, reads and writes together.",
        unit=BYTES,
        minimum=1,
        dynamic=True,
        no_effect="compaction goes on in short slices, one log at a time, without a speed limit.",
    )
    log_cleaner_min_cleanable_ratio: float = declare.double(
        "log.cleaner.min.cleanable.ratio",
        0.5,
        "Part of a log that must be uncompacted before compaction is worth it.",
        minimum=0,
        maximum=1,
        dynamic=True,
    )
    log_cleaner_delete_retention_ms: int = declare.long(
        "log.cleaner.delete.retention.ms",
        86_400_000,
        "How long a deletion marker stays in a compacted log, so that every reader sees it.",
        unit=MILLISECONDS,
        minimum=0,
        dynamic=True,
    )
    log_cleaner_min_compaction_lag_ms: int = declare.long(
        "log.cleaner.min.compaction.lag.ms",
        0,
        "Age below which a record is never compacted away.",
        unit=MILLISECONDS,
        minimum=0,
        dynamic=True,
    )
    log_cleaner_max_compaction_lag_ms: int = declare.long(
        "log.cleaner.max.compaction.lag.ms",
        LONG_MAX,
        "Age at which records are compacted whatever the ratio.",
        unit=MILLISECONDS,
        minimum=1,
        dynamic=True,
    )
    message_max_bytes: int = declare.integer(
        "message.max.bytes",
        2**20 + 12,
        "Largest record batch that is accepted.",
        unit=BYTES,
        minimum=0,
        importance=HIGH,
        dynamic=True,
    )
    compression_type: str = declare.text(
        "compression.type",
        "producer",
        "Compression of stored batches; producer keeps what the producer chose.",
        choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        importance=HIGH,
        dynamic=True,
    )
    compression_gzip_level: int = declare.integer(
        "compression.gzip.level",
        -1,
        "Level used when compression.type is gzip.",
        minimum=1,
        maximum=9,
        also_allowed=-1,
        dynamic=True,
    )
    compression_lz4_level: int = declare.integer(
        "compression.lz4.level",
        9,
        "Level used when compression.type is lz4.",
        minimum=1,
        maximum=17,
        dynamic=True,
    )
    compression_zstd_level: int = declare.integer(
        "compression.zstd.level",
        3,
        "Level used when compression.type is zstd.",
        minimum=-131_072,
        maximum=22,
        dynamic=True,
    )
    min_insync_replicas: int = declare.integer(
        "min.insync.replicas",
        1,
        "Replicas that must have a record that is sent with acks=all.",
        minimum=1,
        importance=HIGH,
        dynamic=True,
    )
    unclean_leader_election_enable: bool = declare.boolean(
        "unclean.leader.election.enable",
        False,
        "Whether a replica that lags may lead, at the price of lost records.",
        importance=HIGH,
        dynamic=True,
        no_effect=NO_SECOND_REPLICA,
    )
    durability: str = declare.text(
        "durability",
        "page-cache",
        "When a write is acknowledged: page-cache survives the end of the process (what Kafka "
        "promises), fsync survives loss of power.",
        choices=("page-cache", "fsync"),
        importance=HIGH,
        dynamic=True,
    )

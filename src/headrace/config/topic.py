"""A topic's settings: the catalogue, and one frozen, typed object with all values.

A value comes from the topic's own overrides, else from the broker options named as its synonyms,
the first that is set. Whoever reads the plain attributes need not know where they came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.config import declare
from headrace.config.broker import BrokerConfig, broker_value
from headrace.config.broker_log import NO_PREALLOCATION, NO_REMOTE_TIER, NO_SECOND_REPLICA
from headrace.config.broker_tables import (
    NO_TABLE,
    TABLE_SCHEMAS,
    raise_if_bad_table,
    raise_if_bad_table_schema,
)
from headrace.config.declare import BYTES, MILLISECONDS, synonyms
from headrace.config.names import raise_if_unknown
from headrace.config.option import LONG_MAX
from headrace.model.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.config.option import Option, Value

_MINUTE_MS = 60_000
_HOUR_MS = 3_600_000


@dataclass(frozen=True, kw_only=True)
class TopicConfig:
    """All topic options as typed attributes (``retention.ms`` is ``retention_ms``)."""

    cleanup_policy: frozenset[str] = declare.item_set(
        "cleanup.policy",
        "delete",
        "What happens to old records: delete by age and size, compact by key, both, or nothing.",
        choices=("compact", "delete"),
        synonyms=synonyms("log.cleanup.policy"),
    )
    compression_type: str = declare.text(
        "compression.type",
        "producer",
        "Compression of stored batches; producer keeps what the producer chose.",
        choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        synonyms=synonyms("compression.type"),
    )
    compression_gzip_level: int = declare.integer(
        "compression.gzip.level",
        -1,
        "Level used when compression.type is gzip.",
        minimum=1,
        maximum=9,
        also_allowed=-1,
        synonyms=synonyms("compression.gzip.level"),
    )
    compression_lz4_level: int = declare.integer(
        "compression.lz4.level",
        9,
        "Level used when compression.type is lz4.",
        minimum=1,
        maximum=17,
        synonyms=synonyms("compression.lz4.level"),
    )
    compression_zstd_level: int = declare.integer(
        "compression.zstd.level",
        3,
        "Level used when compression.type is zstd.",
        minimum=-131_072,
        maximum=22,
        synonyms=synonyms("compression.zstd.level"),
    )
    delete_retention_ms: int = declare.long(
        "delete.retention.ms",
        86_400_000,
        "How long a deletion marker stays in a compacted topic, so that every reader sees it.",
        unit=MILLISECONDS,
        minimum=0,
        synonyms=synonyms("log.cleaner.delete.retention.ms"),
    )
    durability: str = declare.text(
        "durability",
        "page-cache",
        "When a write is acknowledged: page-cache survives the end of the process (what Kafka "
        "promises), fsync survives loss of power.",
        choices=("page-cache", "fsync"),
        synonyms=synonyms("durability"),
    )
    file_delete_delay_ms: int = declare.long(
        "file.delete.delay.ms",
        60_000,
        "Time between renaming a file for deletion and removing it.",
        unit=MILLISECONDS,
        minimum=0,
        synonyms=synonyms("log.segment.delete.delay.ms"),
    )
    flush_messages: int = declare.long(
        "flush.messages",
        LONG_MAX,
        "Number of records after which the log is flushed.",
        unit="records",
        minimum=1,
        synonyms=synonyms("log.flush.interval.messages"),
    )
    flush_ms: int = declare.long(
        "flush.ms",
        LONG_MAX,
        "Age of unflushed records at which the log is flushed.",
        unit=MILLISECONDS,
        minimum=0,
        synonyms=synonyms("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    )
    follower_replication_throttled_replicas: tuple[str, ...] = declare.items(
        "follower.replication.throttled.replicas",
        "",
        "Replicas (partition:broker, or *) whose copying is slowed down at the follower.",
        no_effect=NO_SECOND_REPLICA,
    )
    index_interval_bytes: int = declare.integer(
        "index.interval.bytes",
        4096,
        "An index entry is written after so many bytes of log.",
        unit=BYTES,
        minimum=0,
        synonyms=synonyms("log.index.interval.bytes"),
    )
    internal_segment_bytes: int | None = declare.optional_integer(
        "internal.segment.bytes",
        "Segment size for tests; may be below segment.bytes' minimum.",
        unit=BYTES,
        minimum=1,
        internal=True,
    )
    leader_replication_throttled_replicas: tuple[str, ...] = declare.items(
        "leader.replication.throttled.replicas",
        "",
        "Replicas (partition:broker, or *) whose copying is slowed down at the leader.",
        no_effect=NO_SECOND_REPLICA,
    )
    local_retention_bytes: int = declare.long(
        "local.retention.bytes",
        -2,
        "Size limit of the local part of a tiered log.",
        unit=BYTES,
        minimum=-2,
        synonyms=synonyms("log.local.retention.bytes"),
        no_effect=NO_REMOTE_TIER,
    )
    local_retention_ms: int = declare.long(
        "local.retention.ms",
        -2,
        "Age limit of the local part of a tiered log.",
        unit=MILLISECONDS,
        minimum=-2,
        synonyms=synonyms("log.local.retention.ms"),
        no_effect=NO_REMOTE_TIER,
    )
    max_compaction_lag_ms: int = declare.long(
        "max.compaction.lag.ms",
        LONG_MAX,
        "Age at which records are compacted whatever the ratio.",
        unit=MILLISECONDS,
        minimum=1,
        synonyms=synonyms("log.cleaner.max.compaction.lag.ms"),
    )
    max_message_bytes: int = declare.integer(
        "max.message.bytes",
        2**20 + 12,
        "Largest record batch that is accepted.",
        unit=BYTES,
        minimum=0,
        synonyms=synonyms("message.max.bytes"),
    )
    message_timestamp_after_max_ms: int = declare.long(
        "message.timestamp.after.max.ms",
        _HOUR_MS,
        "How far in the future a producer's timestamp may lie.",
        unit=MILLISECONDS,
        minimum=0,
        synonyms=synonyms("log.message.timestamp.after.max.ms"),
    )
    message_timestamp_before_max_ms: int = declare.long(
        "message.timestamp.before.max.ms",
        LONG_MAX,
        "How far in the past a producer's timestamp may lie.",
        unit=MILLISECONDS,
        minimum=0,
        synonyms=synonyms("log.message.timestamp.before.max.ms"),
    )
    message_timestamp_type: str = declare.text(
        "message.timestamp.type",
        "CreateTime",
        "Whether records keep the producer's time or get the broker's.",
        choices=("CreateTime", "LogAppendTime"),
        synonyms=synonyms("log.message.timestamp.type"),
    )
    min_cleanable_dirty_ratio: float = declare.double(
        "min.cleanable.dirty.ratio",
        0.5,
        "Part of the log that must be uncompacted before compaction is worth it.",
        minimum=0,
        maximum=1,
        synonyms=synonyms("log.cleaner.min.cleanable.ratio"),
    )
    min_compaction_lag_ms: int = declare.long(
        "min.compaction.lag.ms",
        0,
        "Age below which a record is never compacted away.",
        unit=MILLISECONDS,
        minimum=0,
        synonyms=synonyms("log.cleaner.min.compaction.lag.ms"),
    )
    min_insync_replicas: int = declare.integer(
        "min.insync.replicas",
        1,
        "Replicas that must have a record that is sent with acks=all.",
        minimum=1,
        synonyms=synonyms("min.insync.replicas"),
    )
    preallocate: bool = declare.boolean(
        "preallocate",
        False,
        "Give a new segment file its full size at once.",
        synonyms=synonyms("log.preallocate"),
        no_effect=NO_PREALLOCATION,
    )
    remote_log_copy_disable: bool = declare.boolean(
        "remote.log.copy.disable",
        False,
        "Stop copying to the remote tier.",
        choices=("false",),
        no_effect=NO_REMOTE_TIER,
    )
    remote_log_delete_on_disable: bool = declare.boolean(
        "remote.log.delete.on.disable",
        False,
        "Delete the remote part when the tier is switched off.",
        choices=("false",),
        no_effect=NO_REMOTE_TIER,
    )
    remote_storage_enable: bool = declare.boolean(
        "remote.storage.enable",
        False,
        "Move closed segments to a remote tier; only false is accepted.",
        choices=("false",),
        no_effect=NO_REMOTE_TIER,
    )
    retention_bytes: int = declare.long(
        "retention.bytes",
        -1,
        "Size of a partition above which its oldest segments are deleted; -1 for no limit.",
        unit=BYTES,
        synonyms=synonyms("log.retention.bytes"),
    )
    retention_ms: int = declare.long(
        "retention.ms",
        168 * _HOUR_MS,
        "How long records are kept; -1 for ever.",
        unit=MILLISECONDS,
        minimum=-1,
        synonyms=synonyms(
            "log.retention.ms",
            ("log.retention.minutes", _MINUTE_MS),
            ("log.retention.hours", _HOUR_MS),
        ),
    )
    segment_bytes: int = declare.integer(
        "segment.bytes",
        2**30,
        "Size at which a segment file is closed and a new one begun.",
        unit=BYTES,
        minimum=2**20,
        synonyms=synonyms("log.segment.bytes"),
    )
    segment_index_bytes: int = declare.integer(
        "segment.index.bytes",
        10 * 2**20,
        "Size of an offset index at which a segment rolls.",
        unit=BYTES,
        minimum=4,
        synonyms=synonyms("log.index.size.max.bytes"),
    )
    segment_jitter_ms: int = declare.long(
        "segment.jitter.ms",
        0,
        "Random part taken off segment.ms, so that logs do not all roll at once.",
        unit=MILLISECONDS,
        minimum=0,
        synonyms=synonyms("log.roll.jitter.ms", ("log.roll.jitter.hours", _HOUR_MS)),
    )
    segment_ms: int = declare.long(
        "segment.ms",
        168 * _HOUR_MS,
        "Age at which a segment is closed even if it is small.",
        unit=MILLISECONDS,
        minimum=1,
        synonyms=synonyms("log.roll.ms", ("log.roll.hours", _HOUR_MS)),
    )
    storage: str = declare.text(
        "storage",
        "disk",
        "Where records live: disk, or memory (gone at the end of the process).",
        choices=("disk", "memory"),
    )
    table_format: str = declare.text(
        "headrace.table.format",
        NO_TABLE,
        "Whether the topic is also kept as a table: plain Parquet files, delta or iceberg. A job "
        "beside the broker does it, which needs headrace[spark].",
        choices=(NO_TABLE, "plain", "delta", "iceberg"),
    )
    table_location: str | None = declare.optional_text(
        "headrace.table.location", "Where that table is: an absolute path or a URL."
    )
    table_schema: str = declare.text(
        "headrace.table.schema",
        "raw",
        f"What the values are: {TABLE_SCHEMAS}.",
    )
    unclean_leader_election_enable: bool = declare.boolean(
        "unclean.leader.election.enable",
        False,
        "Whether a replica that lags may lead, at the price of lost records.",
        synonyms=synonyms("unclean.leader.election.enable"),
        no_effect=NO_SECOND_REPLICA,
    )

    @classmethod
    def resolve(cls, overrides: Mapping[str, str], broker: BrokerConfig) -> TopicConfig:
        """Overrides by name -> values; InvalidConfig for an unknown name or an illegal value."""
        values: dict[str, Any] = {}
        for name, text in overrides.items():
            raise_if_unknown(name, TOPIC_OPTIONS, "topic option")
            values[_ATTRIBUTES[name]] = TOPIC_OPTIONS[name].parse(text)
        for name, option in TOPIC_OPTIONS.items():
            if name not in overrides and option.synonyms:
                values[_ATTRIBUTES[name]] = inherited(option, broker)
        # A test may want segments smaller than segment.bytes' minimum; storage need not know.
        internal_segment_bytes = values.get("internal_segment_bytes")
        if internal_segment_bytes is not None:
            values["segment_bytes"] = internal_segment_bytes
        config = cls(**values)
        config._raise_if_inconsistent(broker)
        return config

    def _raise_if_inconsistent(self, broker: BrokerConfig) -> None:
        if self.min_compaction_lag_ms > self.max_compaction_lag_ms:
            raise InvalidConfig(
                f"min.compaction.lag.ms={self.min_compaction_lag_ms}: expected at most "
                f"max.compaction.lag.ms={self.max_compaction_lag_ms}"
            )
        raise_if_bad_table(self.table_format, self.table_location, broker)
        raise_if_bad_table_schema(self.table_schema)


TOPIC_OPTIONS = declare.catalogue(TopicConfig)
_ATTRIBUTES = declare.attributes(TopicConfig)


def inherited(option: Option, broker: BrokerConfig) -> Value:
    """What the broker gives a topic that does not set ``option`` itself."""
    for synonym in option.synonyms:
        value = broker_value(broker, synonym.name)
        if isinstance(value, int) and synonym.factor > 1:
            # -1 hours is "for ever", not -3,600,000 milliseconds.
            return value if value < 0 else value * synonym.factor
        if value is not None:
            return value
    return option.parse_optional(option.default)


def raise_if_invalid_topic_config(name: str, value: str) -> None:
    """InvalidConfig if there is no such topic option, or it does not take this value."""
    raise_if_unknown(name, TOPIC_OPTIONS, "topic option")
    TOPIC_OPTIONS[name].parse(value)

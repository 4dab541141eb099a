"""Broker options about consumer groups, committed offsets, producers and transactions."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.config import declare
from headrace.config.declare import BYTES, HIGH, LOW, MILLISECONDS, MINUTES
from headrace.config.option import INT_MAX


@dataclass(frozen=True, kw_only=True)
class GroupSettings:
    """Part of ``BrokerConfig``."""

    group_min_session_timeout_ms: int = declare.integer(
        "group.min.session.timeout.ms",
        6_000,
        "Shortest session time-out a member may ask for.",
        unit=MILLISECONDS,
        minimum=0,
    )
    group_max_session_timeout_ms: int = declare.integer(
        "group.max.session.timeout.ms",
        1_800_000,
        "Longest session time-out a member may ask for.",
        unit=MILLISECONDS,
        minimum=0,
    )
    group_initial_rebalance_delay_ms: int = declare.integer(
        "group.initial.rebalance.delay.ms",
        3_000,
        "How long a new group waits for further members before its first rebalance.",
        unit=MILLISECONDS,
        minimum=0,
    )
    group_max_size: int = declare.integer(
        "group.max.size",
        INT_MAX,
        "Most members that one classic group may have.",
        unit="members",
        minimum=1,
    )
    group_consumer_session_timeout_ms: int = declare.integer(
        "group.consumer.session.timeout.ms",
        45_000,
        "Silence after which a member of a consumer group (KIP-848) is expelled.",
        unit=MILLISECONDS,
        minimum=1,
    )
    group_consumer_min_session_timeout_ms: int = declare.integer(
        "group.consumer.min.session.timeout.ms",
        45_000,
        "Lower bound of group.consumer.session.timeout.ms.",
        unit=MILLISECONDS,
        minimum=1,
    )
    group_consumer_max_session_timeout_ms: int = declare.integer(
        "group.consumer.max.session.timeout.ms",
        60_000,
        "Upper bound of group.consumer.session.timeout.ms.",
        unit=MILLISECONDS,
        minimum=1,
    )
    group_consumer_heartbeat_interval_ms: int = declare.integer(
        "group.consumer.heartbeat.interval.ms",
        5_000,
        "Interval at which members of a consumer group are told to send heartbeats.",
        unit=MILLISECONDS,
        minimum=1,
    )
    group_consumer_min_heartbeat_interval_ms: int = declare.integer(
        "group.consumer.min.heartbeat.interval.ms",
        5_000,
        "Lower bound of group.consumer.heartbeat.interval.ms.",
        unit=MILLISECONDS,
        minimum=1,
    )
    group_consumer_max_heartbeat_interval_ms: int = declare.integer(
        "group.consumer.max.heartbeat.interval.ms",
        15_000,
        "Upper bound of group.consumer.heartbeat.interval.ms.",
        unit=MILLISECONDS,
        minimum=1,
    )
    group_consumer_max_size: int = declare.integer(
        "group.consumer.max.size",
        INT_MAX,
        "Most members that one consumer group may have.",
        unit="members",
        minimum=1,
    )
    group_consumer_assignors: tuple[str, ...] = declare.items(
        "group.consumer.assignors",
        "uniform,range",
        "Server-side assignors; the first is used when the members name none.",
        choices=("uniform", "range"),
    )
    group_consumer_migration_policy: str = declare.text(
        "group.consumer.migration.policy",
        "disabled",
        "Whether a group may change between the classic and the consumer protocol while it lives.",
        choices=("disabled",),
        no_effect="a group changes its protocol while it has no members, and only then.",
    )
    group_consumer_regex_refresh_interval_ms: int = declare.integer(
        "group.consumer.regex.refresh.interval.ms",
        600_000,
        "How often subscriptions by pattern are matched against the topics again.",
        unit=MILLISECONDS,
        minimum=10_000,
        internal=True,
        no_effect="patterns are matched again soon after a topic comes or goes.",
    )
    group_coordinator_rebalance_protocols: tuple[str, ...] = declare.items(
        "group.coordinator.rebalance.protocols",
        "classic,consumer",
        "Group protocols that are served; classic cannot be left out.",
        choices=("classic", "consumer"),
    )
    offsets_topic_num_partitions: int = declare.integer(
        "offsets.topic.num.partitions",
        50,
        "Partitions of the topic of committed offsets; fixed once the topic exists.",
        unit="partitions",
        minimum=1,
        importance=HIGH,
    )
    offsets_topic_replication_factor: int = declare.short(
        "offsets.topic.replication.factor",
        1,
        "Replicas of the topic of committed offsets.",
        minimum=1,
        importance=HIGH,
        no_effect="a single broker keeps one replica.",
    )
    offsets_topic_segment_bytes: int = declare.integer(
        "offsets.topic.segment.bytes",
        100 * 2**20,
        "Segment size of the topic of committed offsets.",
        unit=BYTES,
        minimum=1,
        importance=HIGH,
    )
    offsets_retention_minutes: int = declare.integer(
        "offsets.retention.minutes",
        10_080,
        "How long the offsets of a group without members are kept.",
        unit=MINUTES,
        minimum=1,
        importance=HIGH,
    )
    offsets_retention_check_interval_ms: int = declare.long(
        "offsets.retention.check.interval.ms",
        600_000,
        "How often old offsets are looked for.",
        unit=MILLISECONDS,
        minimum=1,
        importance=HIGH,
    )
    offsets_commit_timeout_ms: int = declare.integer(
        "offsets.commit.timeout.ms",
        5_000,
        "How long a commit waits for the replicas.",
        unit=MILLISECONDS,
        minimum=1,
        importance=HIGH,
        no_effect="a single broker waits for no replica.",
    )
    offset_metadata_max_bytes: int = declare.integer(
        "offset.metadata.max.bytes",
        4_096,
        "Longest text that can be stored with an offset.",
        unit=BYTES,
        minimum=0,
        importance=HIGH,
    )
    producer_id_expiration_ms: int = declare.integer(
        "producer.id.expiration.ms",
        86_400_000,
        "Silence after which a partition forgets an idempotent producer.",
        unit=MILLISECONDS,
        minimum=1,
        importance=LOW,
        dynamic=True,
    )
    producer_id_expiration_check_interval_ms: int = declare.integer(
        "producer.id.expiration.check.interval.ms",
        600_000,
        "How often forgotten producers are looked for.",
        unit=MILLISECONDS,
        minimum=1,
        importance=LOW,
        internal=True,
    )
    transaction_max_timeout_ms: int = declare.integer(
        "transaction.max.timeout.ms",
        900_000,
        "Longest transaction time-out that is granted.",
        unit=MILLISECONDS,
        minimum=1,
        importance=HIGH,
    )
    transactional_id_expiration_ms: int = declare.integer(
        "transactional.id.expiration.ms",
        604_800_000,
        "Silence after which a transactional id is forgotten.",
        unit=MILLISECONDS,
        minimum=1,
        importance=HIGH,
    )
    transaction_state_log_num_partitions: int = declare.integer(
        "transaction.state.log.num.partitions",
        50,
        "Partitions of the topic of transactions; fixed once the topic exists.",
        unit="partitions",
        minimum=1,
        importance=HIGH,
    )
    transaction_state_log_replication_factor: int = declare.short(
        "transaction.state.log.replication.factor",
        1,
        "Replicas of the topic of transactions.",
        minimum=1,
        importance=HIGH,
        no_effect="a single broker keeps one replica.",
    )
    transaction_state_log_segment_bytes: int = declare.integer(
        "transaction.state.log.segment.bytes",
        100 * 2**20,
        "Segment size of the topic of transactions.",
        unit=BYTES,
        minimum=1,
        importance=HIGH,
    )
    transaction_state_log_min_isr: int = declare.integer(
        "transaction.state.log.min.isr",
        1,
        "Replicas that must have a record of the topic of transactions.",
        minimum=1,
        importance=HIGH,
        no_effect="a single broker keeps one replica.",
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = declare.integer(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        3_600_000,
        "How often forgotten transactional ids are looked for.",
        unit=MILLISECONDS,
        minimum=1,
        importance=LOW,
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = declare.integer(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        10_000,
        "How often transactions that have run too long are looked for.",
        unit=MILLISECONDS,
        minimum=1,
        importance=LOW,
        no_effect="each transaction is aborted at its own time-out.",
    )

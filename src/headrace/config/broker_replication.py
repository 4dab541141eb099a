"""Broker options about moving partitions: nothing moves on one node, so they do nothing.

Kafka's tools set and clear them around every reassignment, also around one that changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.config import declare
from headrace.config.broker_log import NO_SECOND_REPLICA
from headrace.config.declare import LOW
from headrace.config.option import LONG_MAX

BYTES_PER_SECOND = "bytes/s"


@dataclass(frozen=True, kw_only=True)
class ReplicationSettings:
    """Part of ``BrokerConfig``."""

    leader_replication_throttled_rate: int = declare.long(
        "leader.replication.throttled.rate",
        LONG_MAX,
        "Most bytes that leaders send to replicas that are being moved.",
        unit=BYTES_PER_SECOND,
        minimum=0,
        importance=LOW,
        dynamic=True,
        no_effect=NO_SECOND_REPLICA,
    )
    follower_replication_throttled_rate: int = declare.long(
        "follower.replication.throttled.rate",
        LONG_MAX,
        "Most bytes that replicas that are being moved fetch from leaders.",
        unit=BYTES_PER_SECOND,
        minimum=0,
        importance=LOW,
        dynamic=True,
        no_effect=NO_SECOND_REPLICA,
    )
    replica_alter_log_dirs_io_max_bytes_per_second: int = declare.long(
        "replica.alter.log.dirs.io.max.bytes.per.second",
        LONG_MAX,
        "Most bytes that are copied between the log directories of a broker.",
        unit=BYTES_PER_SECOND,
        minimum=0,
        importance=LOW,
        dynamic=True,
        no_effect="there is one log directory.",
    )

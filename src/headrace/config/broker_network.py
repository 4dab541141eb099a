"""Broker options about connections, requests and fetches: the limit of every buffer and queue."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.config import declare
from headrace.config.declare import BYTES, HIGH, MILLISECONDS
from headrace.config.option import INT_MAX


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """Part of ``BrokerConfig``."""

    socket_request_max_bytes: int = declare.integer(
        "socket.request.max.bytes",
        100 * 2**20,
        "Largest request; a larger one ends its connection.",
        unit=BYTES,
        minimum=1,
        importance=HIGH,
    )
    queued_max_request_bytes: int = declare.long(
        "queued.max.request.bytes",
        512 * 2**20,
        "Memory for requests of over 1 MiB that arrive or are handled, over all connections; while"
        " it is used up, further ones are not read. -1 sets no limit (Kafka's default).",
        unit=BYTES,
        minimum=-1,
    )
    socket_send_buffer_bytes: int = declare.integer(
        "socket.send.buffer.bytes",
        100 * 1024,
        "Send buffer of each socket; -1 leaves it to the system.",
        unit=BYTES,
        minimum=-1,
        importance=HIGH,
    )
    socket_receive_buffer_bytes: int = declare.integer(
        "socket.receive.buffer.bytes",
        -1,
        "Receive buffer of each socket; -1 leaves it to the system.",
        unit=BYTES,
        minimum=-1,
        importance=HIGH,
    )
    socket_listen_backlog_size: int = declare.integer(
        "socket.listen.backlog.size",
        1_024,
        "Connections that may wait to be accepted.",
        unit="connections",
        minimum=1,
    )
    max_connections: int = declare.integer(
        "max.connections",
        INT_MAX,
        "Most connections at a time; further ones are closed at once.",
        unit="connections",
        minimum=0,
        dynamic=True,
    )
    max_connections_per_ip: int = declare.integer(
        "max.connections.per.ip",
        INT_MAX,
        "Most connections at a time from one address.",
        unit="connections",
        minimum=0,
        dynamic=True,
    )
    connections_max_idle_ms: int = declare.long(
        "connections.max.idle.ms",
        600_000,
        "Silence after which a connection is closed.",
        unit=MILLISECONDS,
        minimum=1,
    )
    request_timeout_ms: int = declare.integer(
        "request.timeout.ms",
        30_000,
        "How long the broker waits for answers that it depends on.",
        unit=MILLISECONDS,
        minimum=1,
        importance=HIGH,
        no_effect="a single broker waits for no other.",
    )
    fetch_max_bytes: int = declare.integer(
        "fetch.max.bytes",
        55 * 2**20,
        "Most bytes of records in one answer to a fetch.",
        unit=BYTES,
        minimum=1024,
    )
    max_incremental_fetch_session_cache_slots: int = declare.integer(
        "max.incremental.fetch.session.cache.slots",
        1_000,
        "Most fetch sessions at a time.",
        unit="sessions",
        minimum=0,
    )
    max_request_partition_size_limit: int = declare.integer(
        "max.request.partition.size.limit",
        2_000,
        "Most partitions in one answer to DescribeTopicPartitions.",
        unit="partitions",
        minimum=1,
    )
    loop_spin_us: int = declare.integer(
        "headrace.loop.spin.us",
        400,
        "How long the broker looks for the next request before it sleeps, where the last ones came"
        " within half of this time; 0 sleeps at once.",
        unit="microseconds",
        minimum=0,
        maximum=10_000,
    )
    connection_buffered_bytes_max: int = declare.integer(
        "headrace.connection.buffered.bytes.max",
        16 * 2**20,
        "Unsent answers of one connection; above it nothing more is read from that connection.",
        unit=BYTES,
        minimum=65_536,
    )
    connection_requests_max: int = declare.integer(
        "headrace.connection.requests.max",
        1_000,
        "Requests of one connection that may wait for their answers.",
        unit="requests",
        minimum=1,
    )
    connection_stalled_timeout_ms: int = declare.integer(
        "headrace.connection.stalled.timeout.ms",
        30_000,
        "How long a client may leave answers unread, or a request half sent, before it is cut off.",
        unit=MILLISECONDS,
        minimum=100,
    )
    parked_fetches_max: int = declare.integer(
        "headrace.parked.fetches.max",
        100_000,
        "Most fetches that wait for records at a time; further ones are answered at once.",
        unit="fetches",
        minimum=0,
    )

"""Quotas as users meet them: set by Kafka's own tool, told to a client by its library."""

from __future__ import annotations

import time
import uuid
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from headrace.cli.main import main
from headrace.testing import Broker

from .kafka_tools import dump_log_segments, run_kafka_class, tools_missing
from .successors import CONTROLLER_LOG

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python warns about itself
    import kafka

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.interop

CONFIG_TOOL = "kafka.admin.ConfigCommand"
THROTTLE_SECONDS_MAX = 30.0
RECORD_BYTES = 10_000
RECORDS = 30


@pytest.fixture
def name() -> str:
    return f"quota-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def tool(bootstrap_servers: str) -> Callable[..., str]:
    missing = tools_missing()
    if missing is not None:
        pytest.skip(missing)

    def run(*arguments: str) -> str:
        return run_kafka_class(CONFIG_TOOL, "--bootstrap-server", bootstrap_servers, *arguments)

    return run


@pytest.mark.maven
def test_kafka_configs_sets_describes_and_deletes(tool: Callable[..., str], name: str) -> None:
    user = ("--entity-type", "users", "--entity-name", name)
    both = (*user, "--entity-type", "clients", "--entity-name", "app")
    tool("--alter", *user, "--add-config", "producer_byte_rate=1024,request_percentage=12.5")
    tool("--alter", *both, "--add-config", "consumer_byte_rate=2048")
    described = tool("--describe", *user)
    assert f"user-principal '{name}'" in described
    assert "producer_byte_rate=1024.0" in described
    assert "request_percentage=12.5" in described
    assert "consumer_byte_rate=2048.0" in tool("--describe", *both)
    tool("--alter", *user, "--delete-config", "producer_byte_rate,request_percentage")
    assert "producer_byte_rate" not in tool("--describe", *user)


@pytest.mark.maven
def test_kafka_reads_our_records(tmp_path: Path) -> None:
    missing = tools_missing()
    if missing is not None:
        pytest.skip(missing)
    with Broker(directory=str(tmp_path)) as broker:
        options = ["--default-user", "--client-id", "app", "--bootstrap", broker.bootstrap_servers]
        assert main(["quota", "set", *options, "producer_byte_rate=4096"]) == 0
        assert main(["quota", "delete", *options]) == 0
    files = sorted((tmp_path / CONTROLLER_LOG).glob("*.log"))
    dump = dump_log_segments(files, "--cluster-metadata-decoder")
    assert dump.faults == []
    records = [line for line in dump.text.splitlines() if "CLIENT_QUOTA_RECORD" in line]
    assert len(records) == 2
    for part in ('{"entityType":"user","entityName":null}', '"entityName":"app"', "4096"):
        assert part in records[0]
    assert '"remove":true' in records[1]


def test_librdkafka_is_throttled_and_nobody_else_is(bootstrap_servers: str, name: str) -> None:
    options = ["--client-id", name, "--bootstrap", bootstrap_servers]
    assert main(["quota", "set", *options, f"producer_byte_rate={RECORD_BYTES}"]) == 0
    try:
        waits_ms, _ = produce(bootstrap_servers, name, name)
        assert max(waits_ms, default=0) > 0
        assert produce(bootstrap_servers, name, "another") == ([], RECORDS)
    finally:
        assert main(["quota", "delete", *options]) == 0


@pytest.mark.parametrize("library", ["librdkafka", "kafka-python"])
def test_consumer_gets_every_record_though_it_has_to_wait(library: str) -> None:
    with Broker({"quota.window.num": "2"}) as broker:
        topic = broker.create_topic("t")
        servers = broker.bootstrap_servers
        assert produce(servers, topic, "producer") == ([], RECORDS)
        options = ["--client-id", "consumer", "--bootstrap", servers]
        assert main(["quota", "set", *options, f"consumer_byte_rate={10 * RECORD_BYTES}"]) == 0
        consume = consume_librdkafka if library == "librdkafka" else consume_kafka_python
        assert consume(servers, topic) == list(range(RECORDS))
        throttled = broker.call(lambda server: dict(server.metrics.throttled_requests))
        assert throttled["consumer_byte_rate"] > 0


def consume_librdkafka(servers: str, topic: str) -> list[int]:
    consumer = Consumer(
        {"bootstrap.servers": servers, "client.id": "consumer", "group.id": "unused"}
    )
    offsets: list[int] = []
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        deadline = time.monotonic() + THROTTLE_SECONDS_MAX
        while len(offsets) < RECORDS and time.monotonic() < deadline:
            offsets += [message.offset() for message in consumer.consume(RECORDS, 0.5)]
    finally:
        consumer.close()
    return offsets


def consume_kafka_python(servers: str, topic: str) -> list[int]:
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=servers, client_id="consumer", auto_offset_reset="earliest"
    )
    offsets: list[int] = []
    try:
        partition = kafka.TopicPartition(topic, 0)
        consumer.assign([partition])
        deadline = time.monotonic() + THROTTLE_SECONDS_MAX
        while len(offsets) < RECORDS and time.monotonic() < deadline:
            found = consumer.poll(timeout_ms=500).get(partition, [])
            offsets += [record.offset for record in found]
    finally:
        consumer.close()
    return offsets


def produce(bootstrap_servers: str, topic: str, client_id: str) -> tuple[list[float], int]:
    """Send until told to wait, or all; how long each time, and how many records were stored."""
    waits_ms: list[float] = []
    outcomes: list[Any] = []
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "client.id": client_id,
            "linger.ms": 0,
            "throttle_cb": lambda event: waits_ms.append(event.throttle_time * 1000),
        }
    )
    deadline = time.monotonic() + THROTTLE_SECONDS_MAX
    for _ in range(RECORDS):
        producer.produce(
            topic, b"x" * RECORD_BYTES, on_delivery=lambda error, _: outcomes.append(error)
        )
        producer.flush(0 if waits_ms else 1)
        if waits_ms or time.monotonic() > deadline:
            break
    producer.poll(0)
    producer.purge()
    producer.flush(5)
    return waits_ms, outcomes.count(None)

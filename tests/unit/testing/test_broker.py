"""The broker inside a test: it starts, keeps apart from others, and leaves nothing behind."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path

import pytest

from headrace.model.errors import DirectoryLocked, InvalidConfig, StorageFailure
from headrace.testing import Broker
from tests.wire.calls import batch, fetch, produce
from tests.wire.raw_client import RawClient

pytest_plugins = ["pytester"]


def thread_names() -> list[str]:
    return sorted(t.name for t in threading.enumerate() if t.name.startswith("headrace"))


def descriptors() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def exchange(broker: Broker, topic: str, value: bytes) -> None:
    """One record in and out."""
    with RawClient(broker.port) as client:
        answer = produce(client, topic, {0: batch(value)})[0]
        assert answer.error_code == 0
        partition = fetch(client, topic, {0: answer.base_offset})[0]
        assert value in bytes(partition.records)


def test_leaves_no_thread_no_descriptor_and_no_file():
    with Broker():
        pass  # what Python opens once and keeps is open now
    before, threads = descriptors(), thread_names()
    with Broker() as broker:
        exchange(broker, broker.create_topic("orders"), b"hello")
        directory = Path(broker.directory)
        assert directory.is_dir()
        assert len(thread_names()) > len(threads)
    assert thread_names() == threads
    assert descriptors() == before
    assert not directory.exists()


def test_stop_with_connected_clients_closes_them():
    with Broker() as broker:
        client = RawClient(broker.port)
        broker.create_topic("orders")
        assert fetch(client, "orders", {0: 0})[0].error_code == 0
    with client:
        assert client.is_closed_by_peer()


def test_several_at_once_do_not_know_each_other():
    with Broker() as first, Broker() as second, Broker() as third:
        brokers = [first, second, third]
        assert len({broker.port for broker in brokers}) == 3
        assert len({broker.directory for broker in brokers}) == 3
        for number, broker in enumerate(brokers):
            exchange(broker, broker.create_topic("orders"), b"to broker %d" % number)
        with RawClient(second.port) as client:
            records = bytes(fetch(client, "orders", {0: 0})[0].records)
        assert b"to broker 1" in records
        assert b"to broker 0" not in records


def test_second_start_over_a_directory_keeps_the_records(tmp_path: Path):
    with Broker(directory=str(tmp_path)) as broker:
        exchange(broker, broker.create_topic("orders"), b"kept")
    with Broker(directory=str(tmp_path)) as broker, RawClient(broker.port) as client:
        assert b"kept" in bytes(fetch(client, "orders", {0: 0})[0].records)
    assert tmp_path.is_dir(), "a directory that was given is not ours to remove"


def test_settings_and_topic_configuration_are_respected():
    with Broker({"num.partitions": "3"}) as broker:
        broker.create_topic("short", 2, {"retention.ms": "1000"})
        assert broker.call(lambda server: server.broker.config.num_partitions) == 3
        topic = broker.call(lambda server: server.broker.topics.get("short"))
        assert topic is not None
        assert [p.log.config.retention_ms for p in topic.partitions] == [1000, 1000]


def test_wrong_setting_is_refused_before_anything_starts():
    threads = thread_names()
    with pytest.raises(InvalidConfig, match=r"num\.partitions"):
        Broker({"num.partitions": "none"})
    assert thread_names() == threads


def test_start_that_fails_raises_the_named_error_and_leaves_nothing(tmp_path: Path):
    path = tmp_path / "data"
    path.write_bytes(b"a file")
    before, threads = descriptors(), thread_names()
    with pytest.raises(StorageFailure, match="data"), Broker(directory=str(path)):
        pytest.fail("it must not start")
    assert thread_names() == threads
    assert descriptors() == before


def test_starts_again_after_a_stop(tmp_path: Path):
    broker = Broker(directory=str(tmp_path))
    with broker:
        exchange(broker, broker.create_topic("orders"), b"first run")
    with broker, RawClient(broker.port) as client:
        assert b"first run" in bytes(fetch(client, "orders", {0: 0})[0].records)


def test_two_over_one_directory_are_refused(tmp_path: Path):
    with Broker(directory=str(tmp_path)) as first:
        with pytest.raises(DirectoryLocked):
            Broker(directory=str(tmp_path)).start()
        exchange(first, first.create_topic("orders"), b"goes on")


def test_stop_without_start_and_twice_does_nothing():
    Broker().stop()
    with Broker() as running:
        running.stop()
        running.stop()


def test_error_on_the_brokers_thread_reaches_the_caller():
    def fail(server: object) -> None:
        raise LookupError("asked for")

    with Broker() as broker:
        with pytest.raises(LookupError, match="asked for"):
            broker.call(fail)
        exchange(broker, broker.create_topic("orders"), b"goes on")


def test_fixtures_of_the_plugin(pytester: pytest.Pytester):
    pytester.makepyfile(
        """
        import socket

        def test_topic_is_new_for_each_test(headrace_broker, headrace_topic):
            with socket.create_connection(("127.0.0.1", headrace_broker.port), 5):
                pass
            assert headrace_broker.bootstrap_servers == f"127.0.0.1:{headrace_broker.port}"
            remember(headrace_broker, headrace_topic)

        def test_broker_is_shared(headrace_broker, headrace_topic):
            remember(headrace_broker, headrace_topic)
            ports = {port for port, _ in SEEN}
            topics = {topic for _, topic in SEEN}
            assert len(ports) == 1
            assert len(topics) == 2

        SEEN = []

        def remember(broker, topic):
            SEEN.append((broker.port, topic))
            names = broker.call(lambda server: [t.name for t in server.broker.topics])
            assert topic in names
        """
    )
    threads = thread_names()
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)
    assert thread_names() == threads

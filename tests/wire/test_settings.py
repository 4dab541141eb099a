"""Settings of the broker that can only be seen from the outside."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from headrace.codecs.kafka.generated.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
)
from headrace.testing import Broker
from tests.wire.calls import batch, produce
from tests.wire.raw_client import RawClient

if TYPE_CHECKING:
    from pathlib import Path

DESCRIBE_CONFIGS = 32
DESCRIBE_TOPIC_PARTITIONS = 75
BROKER_RESOURCE = 4
SEND_BYTES, RECEIVE_BYTES = 40_000, 50_000


def buffer_sizes(broker: Broker) -> tuple[int, int]:
    """(send, receive) of the one connection that is open, as the system tells them."""

    def look(server) -> tuple[int, int]:
        ((_, door),) = server._listeners
        (session,) = door.sessions
        connection = session._transport.get_extra_info("socket")
        return (
            connection.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
            connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
        )

    return broker.call(look)


def test_socket_buffers_have_the_size_that_is_set():
    settings = {
        "socket.send.buffer.bytes": str(SEND_BYTES),
        "socket.receive.buffer.bytes": str(RECEIVE_BYTES),
    }
    with Broker(settings) as broker, RawClient(broker.port) as client:
        produce(client, broker.create_topic("t"), {0: batch(b"x")})
        # Linux doubles what it is asked for, to have room for its own book-keeping.
        assert buffer_sizes(broker) == (2 * SEND_BYTES, 2 * RECEIVE_BYTES)


def test_socket_buffers_are_left_to_the_system_by_default():
    with Broker() as broker, RawClient(broker.port) as client:
        produce(client, broker.create_topic("t"), {0: batch(b"x")})
        send_bytes, receive_bytes = buffer_sizes(broker)
    assert send_bytes > 2 * SEND_BYTES
    assert receive_bytes > 2 * RECEIVE_BYTES


def test_background_threads_are_as_many_as_set():
    before = set(threading.enumerate())
    with Broker({"background.threads": "2"}) as broker, RawClient(broker.port) as client:
        topic = broker.create_topic("t", 20, {"durability": "fsync", "segment.bytes": str(2**20)})
        for _ in range(3):
            produce(client, topic, dict.fromkeys(range(20), batch(b"x" * 600_000)))
        workers = [
            thread
            for thread in set(threading.enumerate()) - before
            if thread.name.startswith("headrace-background")
        ]
        assert len(workers) == 2


def test_answer_about_partitions_is_no_longer_than_set():
    with (
        Broker({"max.request.partition.size.limit": "3"}) as broker,
        RawClient(broker.port) as client,
    ):
        broker.create_topic("t", 5)
        answer = client.call(DESCRIBE_TOPIC_PARTITIONS, 0, DescribeTopicPartitionsRequest([]))
    assert len(answer.topics[0].partitions) == 3
    assert answer.next_cursor.partition_index == 3


def test_data_directory_is_told_as_an_absolute_path(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Broker(directory="here") as broker, RawClient(broker.port) as client:
        wanted = DescribeConfigsResource(BROKER_RESOURCE, "1", ["log.dirs"])
        answer = client.call(DESCRIBE_CONFIGS, 4, DescribeConfigsRequest(resources=[wanted]))
    ((entry,),) = (result.configs for result in answer.results)
    assert entry.value == str(tmp_path / "here")
    assert entry.read_only

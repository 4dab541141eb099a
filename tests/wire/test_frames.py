"""Frames that are wrong end their own connection, with a log line, and harm nobody else."""

from __future__ import annotations

import os
import struct

import pytest

from headrace.codecs.kafka.generated.api_versions import ApiVersionsRequest
from headrace.codecs.kafka.generated.metadata import MetadataRequest
from tests.wire.raw_client import RawClient

API_VERSIONS, METADATA = 18, 3
SOFTWARE = ApiVersionsRequest(client_software_name="raw", client_software_version="1")


@pytest.fixture
def bystander(headrace_broker):
    """A well-behaved client that must not notice anything."""
    with RawClient(headrace_broker.port) as client:
        yield client
        assert client.call(API_VERSIONS, 3, SOFTWARE).error_code == 0


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        struct.pack(">i", -1) + b"x" * 100,
        struct.pack(">i", 0),
        struct.pack(">i", 5) + b"short",
        struct.pack(">i", 2**31 - 1),
        struct.pack(">ihhih", 10, 999, 0, 1, -1),
        struct.pack(">ihhih", 10, 3, 99, 1, -1),
        struct.pack(">ihhih", 10, 0, 1, 1, -1),  # Produce v1 is advertised, not served
        struct.pack(">ihhih", 10, 3, 12, 1, 3000),  # a client id that is longer than the frame
        struct.pack(">ihhih", 14, 3, 1, 1, -1) + struct.pack(">i", 2**31 - 1),
    ],
)
def test_garbage_closes_its_connection_only(client, bystander, garbage):
    client.socket.sendall(garbage)
    assert client.is_closed_by_peer()


def test_random_bytes_close_the_connection(headrace_broker, bystander):
    for seed in range(30):
        with RawClient(headrace_broker.port) as client:
            size = 20 + seed
            client.socket.sendall(struct.pack(">i", size) + os.urandom(size))
            client.socket.shutdown(1)
            client.is_closed_by_peer()


def test_frame_that_arrives_byte_by_byte_is_answered(client):
    for byte in client.frame(API_VERSIONS, 3, SOFTWARE):
        client.socket.sendall(bytes([byte]))
    assert client.receive(API_VERSIONS, 3)[1].error_code == 0


def test_pipelined_requests_are_answered_in_order(client):
    count = 300
    data = b"".join(
        client.frame(METADATA, 12, MetadataRequest(topics=[]))
        if number % 2
        else client.frame(API_VERSIONS, 3, SOFTWARE)
        for number in range(count)
    )
    client.socket.sendall(data)
    for number in range(count):
        api_key, version = (METADATA, 12) if number % 2 else (API_VERSIONS, 3)
        assert client.receive(api_key, version)[0] == number + 1


def test_unknown_version_of_api_versions_gets_a_v0_answer_with_our_range(client):
    header = struct.pack(">hhih", API_VERSIONS, 99, 7, -1)
    client.socket.sendall(struct.pack(">i", len(header) + 3) + header + b"\xff\xff\xff")
    correlation_id, answer = client.receive(API_VERSIONS, 0)
    assert correlation_id == 7
    assert answer.error_code == 35
    assert [(key.api_key, key.min_version, key.max_version) for key in answer.api_keys] == [
        (18, 0, 4)
    ]
    assert client.call(API_VERSIONS, 4, SOFTWARE).error_code == 0


@pytest.mark.parametrize("name", ["", "-x", "a b", "x" + "-"])
def test_illegal_software_name_is_an_invalid_request(client, name):
    request = ApiVersionsRequest(client_software_name=name, client_software_version="1")
    assert client.call(API_VERSIONS, 3, request).error_code == 42


def test_produce_is_advertised_from_version_zero(client):
    keys = {
        k.api_key: (k.min_version, k.max_version)
        for k in client.call(API_VERSIONS, 4, SOFTWARE).api_keys
    }
    assert keys[0] == (0, 13)
    assert keys[1] == (4, 18)
    assert 71 not in keys, "telemetry is not served, so it is not advertised"

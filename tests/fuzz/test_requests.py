"""Requests of every API and version with arbitrary values, and damaged ones, against a live broker.

Whatever comes: no handler fails with an error that nobody named, other connections go on, and what
is stored stays. HEADRACE_TEST_FUZZ_ROUNDS says how many requests of each version are sent (2 by
default).
"""

from __future__ import annotations

import logging
import os
import random
import socket
import struct

import pytest

from headrace.codecs.kafka.headers import encode_request_header
from headrace.frontends.kafka.served_apis import HANDLERS
from headrace.testing import Broker
from tests.unit.codecs.kafka.kio_values import KioValues, kio_bytes, kio_entity
from tests.unit.codecs.kafka.test_malformed import mutated
from tests.wire.calls import batch, fetch, produce
from tests.wire.raw_client import RawClient

ROUNDS = int(os.environ.get("HEADRACE_TEST_FUZZ_ROUNDS", "2"))
SEED = int(os.environ.get("HEADRACE_TEST_FUZZ_SEED", "7"))
NAMES = ["fuzz", "fuzz", "new", "", "group", "__consumer_offsets", "retention.ms", "1", "range"]
SMALL_NUMBERS = (-1, 0, 0, 1, 2, 5)
LIKELY = 0.7
NUMBERS = frozenset({"int8", "int16", "int32", "int64"})

KINDS = [
    (key, version)
    for key, handler in sorted(HANDLERS.items())
    for version in range(handler.version_min, handler.version_max + 1)
]


class LikelyValues(KioValues):
    """Arbitrary values, but often such that there is something by that name or number."""

    def _value(self, kafka_type, inner):
        if self._random.random() < LIKELY:
            if kafka_type == "string":
                return self._random.choice(NAMES)
            if kafka_type in NUMBERS:
                return self._random.choice(SMALL_NUMBERS)
        return super()._value(kafka_type, inner)


@pytest.fixture(scope="module")
def broker():
    # Arbitrary numbers of partitions must not fill the disk.
    with Broker({"headrace.partitions.max": "2000"}) as running:
        running.create_topic("fuzz", 3)
        yield running


@pytest.fixture(scope="module", autouse=True)
def stored(broker):
    """What was there before is there afterwards."""
    broker.create_topic("kept", config={"retention.ms": "-1"})
    with RawClient(broker.port) as client:
        produce(client, "kept", {0: batch(b"kept")})
        yield
        assert b"kept" in bytes(fetch(client, "kept", {0: 0})[0].records)


def exchange(broker: Broker, key: int, version: int, body: bytes) -> None:
    """Send one request on a connection of its own; read whatever comes, briefly."""
    header = encode_request_header(key, version, 1, "fuzz")
    frame = header + body
    with RawClient(broker.port) as client:
        client.socket.sendall(struct.pack(">i", len(frame)) + frame)
        client.socket.settimeout(0.05)
        try:
            client.socket.recv(1 << 16)
        except (TimeoutError, ConnectionError):
            return  # a request that waits, or a connection that was cut off: both are answers
        finally:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize(("key", "version"), KINDS)
def test_no_request_makes_a_handler_fail(broker, caplog, key, version):
    chance = random.Random(f"{SEED}-{key}-{version}")
    caplog.set_level(logging.ERROR)
    entity = kio_entity(key, version, "request")
    for number in range(ROUNDS):
        values = LikelyValues(f"{SEED}-{key}-{version}-{number}", 0.9)
        body = kio_bytes(values.entity(entity))
        exchange(broker, key, version, body)
        exchange(broker, key, version, mutated(chance, body))
    broker.call(lambda server: None)  # everything before this has been handled
    failures = [r.getMessage() for r in caplog.records if r.levelno >= logging.ERROR]
    assert failures == []

"""Requests of middling size: they arrive in pieces, in memory that is used again and again."""

from __future__ import annotations

from contextlib import ExitStack

from headrace.testing import Broker
from tests.wire.calls import PRODUCE, batch, fetch, produce_request
from tests.wire.raw_client import RawClient

SIZES = (70_000, 900_000, 100, 65_000, 500_000, 1_040_000, 300_000, 10)
PIECE_BYTES = 37_001
"""No divisor of anything: ends of frames fall anywhere into a piece."""

CONNECTIONS = 20
"""More than there are kept buffers."""


def value_of(connection: int, number: int) -> bytes:
    return bytes([connection, number]) * (SIZES[number] // 2)


def test_requests_that_come_in_pieces_over_many_connections_are_stored_as_they_were_sent():
    with Broker() as broker, ExitStack() as stack:
        topic = broker.create_topic("middling", CONNECTIONS)
        clients = [stack.enter_context(RawClient(broker.port)) for _ in range(CONNECTIONS)]
        streams = [
            b"".join(
                client.frame(PRODUCE, 9, produce_request(topic, {index: batch(value)}))
                for value in (value_of(index, number) for number in range(len(SIZES)))
            )
            for index, client in enumerate(clients)
        ]
        for start in range(0, max(map(len, streams)), PIECE_BYTES):
            for client, stream in zip(clients, streams, strict=True):
                client.socket.sendall(stream[start : start + PIECE_BYTES])
        for index, client in enumerate(clients):
            for number in range(len(SIZES)):
                answer = client.receive(PRODUCE, 9)[1].responses[0].partition_responses[0]
                assert (answer.error_code, answer.base_offset) == (0, number)
            for number in range(len(SIZES)):
                stored = fetch(client, topic, {index: number}, max_bytes=1)[index].records
                assert value_of(index, number) in bytes(stored)

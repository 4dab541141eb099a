"""The client that waits for a broker to take its first record: the same few lines for every peer.

It knocks again a few milliseconds after each refusal, so that what is measured is the broker and
not a client's back-off. It asks for what an ordinary client needs: a topic, and an acknowledged
write; the errors of a broker that is still coming up mean "not yet", whatever they are.
"""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.create_topics import CreatableTopic, CreateTopicsRequest

from .frames import (
    ProduceFrames,
    batch_of,
    decode_answer,
    request_frame,
    whole_frame_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

KNOCK_EVERY_SECONDS = 0.002
ANSWER_SECONDS_MAX = 5.0
CREATE_TOPICS, CREATE_TOPICS_VERSION = 19, 7
CREATE_TIMEOUT_MS = 5_000
NO_ERROR, TOPIC_ALREADY_EXISTS = 0, 36
ANSWER_BYTES_MAX = 1 << 20


class NoAcknowledgement(RuntimeError):
    """No record was acknowledged in the time that there was."""


@dataclass(frozen=True)
class Probe:
    """Waits until a record for `topic` is acknowledged; makes the topic first if asked to."""

    topic: str
    partition: int = 0
    create: bool = False

    def wait(self, address: str, seconds_max: float) -> None:
        """Return when a record was acknowledged."""
        steps = [self._created] if self.create else []
        steps.append(self._produced)
        deadline_s = time.perf_counter() + seconds_max
        connection: socket.socket | None = None
        try:
            while steps:
                if time.perf_counter() > deadline_s:
                    raise NoAcknowledgement(f"nothing acknowledged within {seconds_max:g} s")
                try:
                    connection = connection or _connect(address)
                    is_done = steps[0](connection)
                except (OSError, EOFError):
                    is_done = False
                    _close(connection)
                    connection = None
                if is_done:
                    steps.pop(0)
                else:
                    time.sleep(KNOCK_EVERY_SECONDS)
        finally:
            _close(connection)

    def _created(self, connection: socket.socket) -> bool:
        topics = [CreatableTopic(name=self.topic, num_partitions=1, replication_factor=1)]
        request = CreateTopicsRequest(topics=topics, timeout_ms=CREATE_TIMEOUT_MS)
        connection.sendall(request_frame(CREATE_TOPICS, CREATE_TOPICS_VERSION, request))
        answer = decode_answer(CREATE_TOPICS, CREATE_TOPICS_VERSION, _answer(connection))
        return answer.topics[0].error_code in (NO_ERROR, TOPIC_ALREADY_EXISTS)

    def _produced(self, connection: socket.socket) -> bool:
        frames = ProduceFrames(self.topic, batch_of(b"first"))
        connection.sendall(frames.frame(self.partition))
        return frames.error_code(_answer(connection)) == NO_ERROR


def seconds_to_first_record(
    start: Callable[[], object], address: Callable[[], str], probe: Probe, seconds_max: float
) -> float:
    """From before the process exists to the acknowledgement."""
    started_s = time.perf_counter()
    start()
    probe.wait(address(), seconds_max)
    return time.perf_counter() - started_s


def _connect(address: str) -> socket.socket:
    host, port = address.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), ANSWER_SECONDS_MAX)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _close(connection: socket.socket | None) -> None:
    if connection is not None:
        connection.close()


def _answer(connection: socket.socket) -> bytes:
    received = bytearray()
    while not (size := whole_frame_bytes(received)):
        part = connection.recv(65_536)
        if not part:
            raise EOFError(f"closed after {len(received)} bytes of an answer")
        received += part
        if len(received) > ANSWER_BYTES_MAX:
            raise ValueError(f"an answer of more than {ANSWER_BYTES_MAX} bytes")
    return bytes(received[:size])

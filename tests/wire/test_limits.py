"""What one client can make the broker hold: connections, frames, requests, unread answers."""

from __future__ import annotations

import struct
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.api_versions import ApiVersionsRequest
from headrace.testing import Broker
from tests.wire.calls import FETCH, PRODUCE, batch, fetch_request, produce, produce_request
from tests.wire.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Callable

API_VERSIONS = 18
SOFTWARE = ApiVersionsRequest(client_software_name="raw", client_software_version="1")
PATIENCE_SECONDS = 5
FRAME_BYTES_MAX = 1_000_000
UNSENT_BYTES_MAX = 65_536
ANSWER_BYTES = 500_000
REQUESTS_MAX = 5


def is_cut_off(client: RawClient) -> bool:
    """Whether the broker ends the connection; waits only if it does not."""
    client.socket.settimeout(PATIENCE_SECONDS)
    try:
        return client.is_closed_by_peer()
    except TimeoutError:
        return False


def observed(broker: Broker, look: Callable[[Any], int], at_least: int) -> int:
    """What ``look`` sees in the one session that is open, once it sees enough."""

    def of_session(server: Any) -> int:
        ((_, door),) = server._listeners
        (session,) = door.sessions
        return look(session)

    deadline = time.monotonic() + PATIENCE_SECONDS
    while (seen := broker.call(of_session)) < at_least:
        assert time.monotonic() < deadline, f"{seen} of {at_least}"
    return seen


def test_frame_that_claims_more_than_the_limit_is_not_waited_for():
    with (
        Broker({"socket.request.max.bytes": str(FRAME_BYTES_MAX)}) as broker,
        RawClient(broker.port) as client,
    ):
        client.socket.sendall(struct.pack(">ihhih", FRAME_BYTES_MAX + 1, 0, 9, 1, -1))
        assert is_cut_off(client)


def refuses_the_third(settings: dict[str, str]) -> bool:
    with Broker(settings) as broker, ExitStack() as stack:
        for _ in range(2):
            client = stack.enter_context(RawClient(broker.port))
            assert client.call(API_VERSIONS, 3, SOFTWARE).error_code == 0
        return is_cut_off(stack.enter_context(RawClient(broker.port)))


def test_there_are_no_more_connections_than_allowed():
    assert refuses_the_third({"max.connections": "2"})


def test_an_address_has_no_more_connections_than_allowed():
    assert refuses_the_third({"max.connections.per.ip": "2"})


def test_nothing_is_read_from_a_client_that_does_not_read_its_answers():
    settings = {"headrace.connection.buffered.bytes.max": str(UNSENT_BYTES_MAX)}
    request_count = 60
    with Broker(settings) as broker, RawClient(broker.port) as client:
        topic = broker.create_topic("t")
        produce(client, topic, {0: batch(b"x" * ANSWER_BYTES)})
        request = fetch_request(topic, {0: 0})
        frames = [client.frame(FETCH, 12, request) for _ in range(request_count)]
        client.socket.sendall(b"".join(frames))
        unsent = observed(broker, lambda s: s.outbox.buffered_bytes, UNSENT_BYTES_MAX)
        assert unsent < UNSENT_BYTES_MAX + 2 * ANSWER_BYTES
        for _ in range(request_count):
            answer = client.receive(FETCH, 12)[1]
            assert len(answer.responses[0].partitions[0].records) > ANSWER_BYTES


def test_a_connection_has_no_more_requests_under_way_than_allowed():
    settings = {"headrace.connection.requests.max": str(REQUESTS_MAX)}
    with Broker(settings) as broker, RawClient(broker.port) as client:
        topic = broker.create_topic("t")
        request = fetch_request(topic, {0: 0}, max_wait_ms=60_000)
        client.socket.sendall(b"".join(client.frame(FETCH, 12, request) for _ in range(20)))
        assert observed(broker, lambda s: len(s._slots), REQUESTS_MAX) == REQUESTS_MAX


def test_answers_that_wait_behind_a_parked_one_count_as_well():
    settings = {"headrace.connection.buffered.bytes.max": str(UNSENT_BYTES_MAX)}
    request_count = 60
    with Broker(settings) as broker, RawClient(broker.port) as client:
        quiet, full = broker.create_topic("quiet"), broker.create_topic("full")
        produce(client, full, {0: batch(b"x" * ANSWER_BYTES)})
        parked = fetch_request(quiet, {0: 0}, max_wait_ms=60_000)
        requests = [parked] + [fetch_request(full, {0: 0})] * request_count
        sent = [client.send(FETCH, 12, request) for request in requests]
        held = observed(broker, lambda s: s._ready_bytes, UNSENT_BYTES_MAX)
        assert held < UNSENT_BYTES_MAX + 2 * ANSWER_BYTES
        with RawClient(broker.port) as other:
            produce(other, quiet, {0: batch(b"y")})
        assert [client.receive(FETCH, 12)[0] for _ in sent] == sent
        assert observed(broker, lambda s: 1 - s._ready_bytes, 1) == 1


def wide_produce(topic: str, count: int, size: int) -> Any:
    return produce_request(topic, {index: batch(b"x" * size) for index in range(count)})


def test_a_large_request_is_handled_in_turns_with_the_others():
    """Its answer is complete, requests behind it keep their order, and others are not held up."""
    with Broker() as broker, RawClient(broker.port) as client, RawClient(broker.port) as other:
        topic = broker.create_topic("wide", 20)
        sent = [
            client.send(PRODUCE, 9, wide_produce(topic, 20, 900_000)),
            client.send(PRODUCE, 9, wide_produce(topic, 20, 10)),
        ]
        assert other.call(API_VERSIONS, 3, SOFTWARE).error_code == 0
        received = [client.receive(PRODUCE, 9) for _ in sent]
        assert [correlation_id for correlation_id, _ in received] == sent
        for offset, (_, answer) in enumerate(received):
            partitions = answer.responses[0].partition_responses
            assert [(p.index, p.error_code, p.base_offset) for p in partitions] == [
                (index, 0, offset) for index in range(20)
            ]


def test_large_requests_wait_for_memory_and_small_ones_do_not():
    limit = 3_000_000
    settings = {"queued.max.request.bytes": str(limit), "socket.request.max.bytes": str(limit)}
    with Broker(settings) as broker, ExitStack() as stack:
        topic = broker.create_topic("wide", 3)
        clients = [stack.enter_context(RawClient(broker.port)) for _ in range(4)]
        frames = [c.frame(PRODUCE, 9, wide_produce(topic, 3, 900_000)) for c in clients]
        for client, frame in zip(clients, frames, strict=True):
            client.socket.sendall(frame[:1_500_000])
        small = stack.enter_context(RawClient(broker.port))
        assert produce(small, topic, {0: batch(b"small")})[0].error_code == 0

        def waiting(server: Any) -> int:
            ((_, door),) = server._listeners
            return sum(session._awaits_memory for session in door.sessions)

        deadline = time.monotonic() + PATIENCE_SECONDS
        while broker.call(waiting) < 3:
            assert time.monotonic() < deadline
        clients[3].socket.close()
        for client, frame in zip(clients[:3], frames, strict=False):
            client.socket.sendall(frame[1_500_000:])
        for client in clients[:3]:
            answer = client.receive(PRODUCE, 9)[1]
            assert [p.error_code for p in answer.responses[0].partition_responses] == [0, 0, 0]
        assert broker.call(waiting) == 0


def test_a_large_request_under_way_is_written_whole_before_the_broker_stops(tmp_path):
    """Nothing may be appended once the logs are closed: the stop was clean, and says so."""
    with Broker(directory=str(tmp_path)) as broker, RawClient(broker.port) as client:
        topic = broker.create_topic("wide", 40)
        client.send(PRODUCE, 9, wide_produce(topic, 40, 900_000))
        assert observed(broker, lambda s: int(s._is_busy), 1) == 1
    with Broker(directory=str(tmp_path)) as broker, RawClient(broker.port) as client:
        answer = produce(client, topic, {index: batch(b"after") for index in range(40)})
        assert {
            index: (p.error_code, p.base_offset) for index, p in answer.items()
        } == dict.fromkeys(range(40), (0, 1))

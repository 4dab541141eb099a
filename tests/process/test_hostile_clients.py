"""Clients that take more than they give: the broker's memory stays bounded, the others go on.

The limits are on the whole process: about 50 MB of it are Python and the broker at rest.
"""

from __future__ import annotations

import socket
import struct
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.interop.deadline import wait_until
from tests.process.parties import NeighbourhoodWatch, connect, create_topic
from tests.process.resources import open_descriptors, open_sockets, peak_megabytes
from tests.wire.calls import FETCH, PRODUCE, batch, fetch_request, produce, produce_request

if TYPE_CHECKING:
    from tests.wire.raw_client import RawClient

IDLE_CONNECTIONS = 5_000
STALLED_MS = 500
SETTLE_SECONDS_MAX = 20.0
CUT_OFF_SECONDS_MAX = 15.0
MEMORY_WITH_IDLE_MB_MAX = 130
MEMORY_UNDER_ATTACK_MB_MAX = 120
MEMORY_OF_LARGE_PRODUCE_MB_MAX = 300
API_VERSIONS = 18


def is_cut_off(connection: socket.socket) -> bool:
    """Read what there is; True once the other side has ended the connection."""
    connection.setblocking(False)
    try:
        while connection.recv(65_536):
            continue
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


@pytest.mark.usefixtures("many_descriptors")
def test_five_thousand_idle_connections_and_half_open_ones(make_broker):
    broker = make_broker()
    create_topic(broker, "orders")
    with NeighbourhoodWatch(broker, "orders") as watch:
        at_rest = open_descriptors(broker.pid)
        with ExitStack() as stack:
            idle = [stack.enter_context(connect(broker)) for _ in range(IDLE_CONNECTIONS)]
            for client in idle[:100]:
                client.socket.sendall(struct.pack(">i", 1000)[:3])
            for client in idle[100:200]:
                client.socket.shutdown(socket.SHUT_WR)
            wait_until(
                lambda: open_descriptors(broker.pid) >= at_rest + IDLE_CONNECTIONS - 100,
                "all are accepted",
                SETTLE_SECONDS_MAX,
            )
            watch.expect_progress()
            assert peak_megabytes(broker.pid) < MEMORY_WITH_IDLE_MB_MAX
            assert all(is_cut_off(client.socket) for client in idle[100:200]), "they said goodbye"
        wait_until(
            lambda: open_descriptors(broker.pid) <= at_rest,
            "all descriptors are back",
            SETTLE_SECONDS_MAX,
            lambda: open_descriptors(broker.pid),
        )
        watch.expect_progress()


def test_clients_that_stall_are_cut_off(make_broker):
    """One never reads its answers, one trickles a request, one claims 100 MB and sends nothing."""
    broker = make_broker(f"headrace.connection.stalled.timeout.ms={STALLED_MS}")
    create_topic(broker, "orders")
    with NeighbourhoodWatch(broker, "orders") as watch, ExitStack() as stack:
        at_rest = open_descriptors(broker.pid)
        reader, trickler, boaster = (stack.enter_context(connect(broker)) for _ in range(3))
        for _ in range(40):
            assert produce(reader, "orders", {0: batch(b"v" * 900_000)})[0].error_code == 0
        request = fetch_request("orders", {0: 0}, partition_max_bytes=50_000_000)
        for _ in range(50):
            reader.send(FETCH, 12, request)
        slow = iter(trickler.frame(FETCH, 12, request))
        boaster.socket.sendall(struct.pack(">i", 100 * 2**20) + b"\0\0\0\x09")

        def trickler_is_cut_off() -> bool:
            if is_cut_off(trickler.socket):
                return True
            try:
                trickler.socket.send(bytes([next(slow)]))
            except OSError:
                return True
            return False

        wait_until(trickler_is_cut_off, "who trickles", CUT_OFF_SECONDS_MAX, interval_s=0.1)
        wait_until(lambda: is_cut_off(boaster.socket), "who boasts", CUT_OFF_SECONDS_MAX)
        wait_until(
            lambda: open_descriptors(broker.pid) <= at_rest,
            "who does not read",
            CUT_OFF_SECONDS_MAX,
            broker.log_tail,
        )
        assert broker.log_tail().count("reason=stalled") == 3
        watch.expect_progress()
        assert peak_megabytes(broker.pid) < MEMORY_UNDER_ATTACK_MB_MAX


def test_frame_larger_than_the_limit_ends_its_connection(make_broker):
    broker = make_broker()
    create_topic(broker, "orders")
    with NeighbourhoodWatch(broker, "orders") as watch, connect(broker) as client:
        client.socket.sendall(struct.pack(">i", 100 * 2**20 + 1))
        assert client.is_closed_by_peer()
        assert "reason=too-large" in broker.log_tail()
        watch.expect_progress()


def test_a_produce_of_60_megabytes_to_60_partitions(make_broker):
    broker = make_broker()
    create_topic(broker, "orders")
    create_topic(broker, "wide", partitions=60)
    value = b"v" * 1_000_000
    with NeighbourhoodWatch(broker, "orders") as watch, connect(broker) as client:
        for round_number in range(3):
            answer = produce(client, "wide", {index: batch(value) for index in range(60)})
            assert {index: p.error_code for index, p in answer.items()} == dict.fromkeys(
                range(60), 0
            )
            assert {p.base_offset for p in answer.values()} == {round_number}
        watch.expect_progress()
        assert peak_megabytes(broker.pid) < MEMORY_OF_LARGE_PRODUCE_MB_MAX


def test_connections_per_address_are_limited(make_broker):
    broker = make_broker("max.connections.per.ip=10")
    create_topic(broker, "orders")
    with NeighbourhoodWatch(broker, "orders") as watch, ExitStack() as stack:
        mine = [stack.enter_context(connect(broker)) for _ in range(10 - watch.connections)]
        for client in mine:
            assert produce(client, "orders", {0: batch(b"in")})[0].error_code == 0
        with connect(broker) as refused:
            assert refused.is_closed_by_peer()
        assert "max.connections.per.ip=10 reached" in broker.log_tail()
        watch.expect_progress()
        mine[0].socket.close()
        wait_until(lambda: may_enter(broker), "a place is free again", SETTLE_SECONDS_MAX)


def may_enter(broker) -> bool:
    with connect(broker) as client:
        try:
            return produce(client, "orders", {0: batch(b"in")})[0].error_code == 0
        except OSError:
            return False


@pytest.mark.parametrize(
    "kind", ["api-versions", "fetch", "produce"], ids=["ApiVersions", "parked Fetch", "Produce"]
)
def test_100_000_pipelined_requests_without_reading(kind: str, make_broker):
    # Who waits for its answers does not stall; but the broker looks around more often.
    settings = [f"headrace.connection.stalled.timeout.ms={STALLED_MS}"] if kind == "fetch" else []
    broker = make_broker(*settings)
    create_topic(broker, "orders")
    create_topic(broker, "quiet")
    with NeighbourhoodWatch(broker, "orders") as watch:
        at_rest = open_sockets(broker.pid)
        with connect(broker) as client:
            frame = pipelined_frame(client, kind)
            sent = send_without_reading(client.socket, frame * 1_000, 100)
            assert sent > 1_000 * len(frame), "it should take some"
            watch.expect_progress()
            assert peak_megabytes(broker.pid) < MEMORY_UNDER_ATTACK_MB_MAX
            # An abrupt end; otherwise the kernel goes on delivering what the broker does not read.
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wait_until(
            lambda: open_sockets(broker.pid) <= at_rest,
            "the connection is forgotten",
            SETTLE_SECONDS_MAX,
        )
        watch.expect_progress()


def test_client_that_leaves_while_nothing_is_read_from_it(make_broker):
    """With as many requests parked as it may have, the broker has stopped to listen to it."""
    broker = make_broker(
        "headrace.connection.requests.max=100",
        f"headrace.connection.stalled.timeout.ms={STALLED_MS}",
    )
    at_rest = open_sockets(broker.pid)
    create_topic(broker, "quiet")
    wait_until(lambda: open_sockets(broker.pid) == at_rest, "at rest again", SETTLE_SECONDS_MAX)
    with connect(broker) as client:
        client.socket.sendall(pipelined_frame(client, "fetch") * 200)
        wait_until(lambda: open_sockets(broker.pid) > at_rest, "it is in", SETTLE_SECONDS_MAX)
    wait_until(lambda: open_sockets(broker.pid) <= at_rest, "it is out", SETTLE_SECONDS_MAX)


def pipelined_frame(client: RawClient, kind: str) -> bytes:
    if kind == "fetch":
        request = fetch_request("quiet", {0: 0}, max_wait_ms=3_600_000)
        return client.frame(FETCH, 12, request)
    if kind == "produce":
        return client.frame(PRODUCE, 9, produce_request("orders", {0: batch(b"v" * 100)}))
    from headrace.codecs.kafka.generated.api_versions import ApiVersionsRequest

    return client.frame(API_VERSIONS, 0, ApiVersionsRequest())


def send_without_reading(connection: socket.socket, data: bytes, times: int) -> int:
    """Send until the other side takes no more, or all is sent; how many bytes it took."""
    connection.settimeout(1.0)
    sent = 0
    for _ in range(times):
        view = memoryview(data)
        while view:
            try:
                count = connection.send(view)
            except TimeoutError:
                return sent
            sent += count
            view = view[count:]
    return sent

"""The HTTP listener of a running broker, spoken to byte for byte: HTTP/1.1 as it should be, and
clients as they should not be."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import pytest

from headrace.frontends.http import guarded_connection
from headrace.frontends.http.guarded_connection import PIECE_BYTES
from headrace.frontends.http.listener import HEADER_BYTES_MAX
from headrace.testing import Broker
from tests.interop.deadline import wait_until
from tests.wire.raw_http import RawHttp

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = json.dumps({"schema": '"int"'}).encode()
REGISTER = "POST /subjects/s/versions HTTP/1.1\nContent-Type: application/json"
ERROR_TYPE = "application/vnd.schemaregistry.v1+json"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(http=True) as broker:
        yield broker


@pytest.fixture
def client(broker: Broker) -> Iterator[RawHttp]:
    with RawHttp(broker.http_url) as client:
        yield client


def is_served(broker: Broker) -> bool:
    with RawHttp(broker.http_url) as other:
        return other.ask("GET /health HTTP/1.1").body == b"ok\n"


def test_metrics_health_and_registry_share_one_connection(client: RawHttp) -> None:
    assert client.ask("GET /health HTTP/1.1").body == b"ok\n"
    assert b"headrace_" in client.ask("GET /metrics HTTP/1.1").body
    answer = client.ask("GET /subjects HTTP/1.1")
    assert answer.status == 200
    assert answer.headers["content-type"] == ERROR_TYPE
    assert "server" not in answer.headers


def test_body_in_chunks(client: RawHttp) -> None:
    half = len(SCHEMA) // 2
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (len(part), part) for part in (SCHEMA[:half], SCHEMA[half:], b"")
    )
    answer = client.ask(f"{REGISTER}\nTransfer-Encoding: chunked", chunks)
    assert (answer.status, answer.json) == (200, {"id": 1})


def test_client_that_waits_for_100_continue(client: RawHttp) -> None:
    client.send(f"{REGISTER}\nContent-Length: {len(SCHEMA)}\nExpect: 100-continue")
    assert client.answer(is_head=True).status == 100
    client.socket.sendall(SCHEMA)
    assert client.answer().json == {"id": 1}


def test_requests_in_a_row_are_answered_in_their_order(client: RawHttp) -> None:
    client.send("GET /health HTTP/1.1")
    client.send(f"{REGISTER}\nContent-Length: {len(SCHEMA)}", SCHEMA)
    client.send("GET /schemas/types HTTP/1.1")
    assert client.answer().body == b"ok\n"
    assert client.answer().json == {"id": 1}
    assert "AVRO" in client.answer().json


def test_head_is_get_without_a_body(client: RawHttp) -> None:
    head = client.ask("HEAD /subjects HTTP/1.1")
    full = client.ask("GET /subjects HTTP/1.1")
    assert head.status == full.status == 200
    assert head.headers["content-length"] == str(len(full.body))


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("GET /nowhere HTTP/1.1", 404),
        ("PATCH /subjects HTTP/1.1\nContent-Length: 0", 405),
        ("OPTIONS /subjects HTTP/1.1", 405),
    ],
)
def test_errors_of_the_path_are_in_confluents_form(client: RawHttp, line: str, code: int) -> None:
    answer = client.ask(line)
    assert (answer.status, answer.json["error_code"]) == (code, code)
    assert answer.headers["content-type"] == ERROR_TYPE


def test_slash_in_a_subject_stays_in_it(client: RawHttp) -> None:
    head = REGISTER.replace("/s/", "/a%2Fb%20%C3%A9/")
    client.ask(f"{head}\nContent-Length: {len(SCHEMA)}", SCHEMA)
    assert "a/b é" in client.ask("GET /subjects HTTP/1.1").json
    assert client.ask("GET /subjects/a%2fb%20%c3%a9/versions HTTP/1.1").json == [1]


def test_body_that_is_too_long_is_not_read(client: RawHttp) -> None:
    answer = client.ask(f"{REGISTER}\nContent-Length: 9999999999", b"{")
    assert (answer.status, answer.json["error_code"]) == (422, 42209)


def test_headers_have_a_limit(broker: Broker, client: RawHttp) -> None:
    client.send(f"GET /health HTTP/1.1\nX-Long: {'x' * (HEADER_BYTES_MAX + PIECE_BYTES)}")
    assert client.is_closed_by_server()
    assert is_served(broker)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x00\x00\x00\x10\x00\x12\x00\x00 not http\r\n\r\n",
        b"GET / TEAPOT/1.0\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        b"POST /subjects/s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /metrics HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcdefgh\r\n",
        b"POST /subjects/s/versions HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
        b"Content-Length: 6\r\n\r\n",
    ],
)
def test_garbage_ends_its_connection_only(
    broker: Broker, client: RawHttp, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    client.socket.sendall(garbage)
    assert client.is_closed_by_server()
    assert is_served(broker)
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_client_that_leaves_in_the_middle(
    broker: Broker, client: RawHttp, caplog: pytest.LogCaptureFixture
) -> None:
    client.send(f"{REGISTER}\nContent-Length: 500", b'{"schema": ')
    client.socket.close()
    assert is_served(broker)
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


@pytest.mark.parametrize(
    "part", [b"", b"GET /heal", b"GET /health HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf"]
)
def test_client_that_never_goes_on_is_cut_off(
    broker: Broker, part: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarded_connection, "EXCHANGE_SECONDS_MAX", 0.3)
    with RawHttp(broker.http_url) as slow:
        slow.socket.sendall(part)
        assert slow.is_closed_by_server()
    assert is_served(broker)


def test_client_that_does_not_read_is_cut_off(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarded_connection, "EXCHANGE_SECONDS_MAX", 0.3)
    with RawHttp(broker.http_url) as deaf:
        deaf.socket.settimeout(0.2)
        request = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
        wait_until(lambda: is_reset(deaf, request * 1_000), "the server hangs up", 30)
    assert is_served(broker)


def is_reset(client: RawHttp, request: bytes) -> bool:
    try:
        client.socket.sendall(request)
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return False


def test_connections_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded_connection, "CONNECTIONS_MAX", 3)
    with Broker(http=True) as broker:
        kept = [RawHttp(broker.http_url) for _ in range(3)]
        for connection in kept:
            assert connection.ask("GET /health HTTP/1.1").status == 200
        with RawHttp(broker.http_url) as further:
            assert further.is_closed_by_server()
        kept.pop().socket.close()
        wait_until(lambda: can_ask(broker), "a place is free again", 10)
        for connection in kept:
            connection.socket.close()


def can_ask(broker: Broker) -> bool:
    try:
        return is_served(broker)
    except ConnectionError:
        return False

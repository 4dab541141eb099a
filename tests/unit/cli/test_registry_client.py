"""What answers of a registry, or of something else, mean on the command line."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest

from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.registry_client import RegistryClient, subject_path, version_path

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMEOUT_SECONDS = 5.0


@contextmanager
def answering(status: int, body: bytes) -> Iterator[tuple[str, list[BaseHTTPRequestHandler]]]:
    """A server that gives one answer to everything, and what it was asked."""
    asked: list[BaseHTTPRequestHandler] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing: standard error belongs to the tests."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def test_query_and_password_are_sent() -> None:
    with answering(200, b'["s"]') as (address, asked):
        client = RegistryClient(f"http://ann:p%40ss@{address}/base/", TIMEOUT_SECONDS)
        assert client.call("GET", "/subjects", deleted=True, prefix=None, limit=3) == ["s"]
    assert asked[0].path == "/base/subjects?deleted=true&limit=3"
    assert asked[0].headers["Authorization"] == "Basic YW5uOnBAc3M="


@pytest.mark.parametrize(
    ("status", "body", "code", "message"),
    [
        (404, b'{"error_code":40401,"message":"no such"}', ExitCode.NOT_FOUND, "no such"),
        (409, b'{"error_code":409,"message":"does not fit"}', ExitCode.FAILED, "does not fit"),
        (422, b'{"error_code":42201,"message":"bad"}', ExitCode.USAGE, "bad"),
        (501, b'{"error_code":501,"message":"extra"}', ExitCode.MISSING_DEPENDENCY, "extra"),
        (502, b"<html>", ExitCode.FAILED, "the registry answers 502"),
        (200, b"<html>", ExitCode.FAILED, "is no schema registry"),
    ],
)
def test_refusals(status: int, body: bytes, code: ExitCode, message: str) -> None:
    with answering(status, body) as (address, _), pytest.raises(Failure, match=message) as failed:
        RegistryClient(f"http://{address}", TIMEOUT_SECONDS).call("GET", "/subjects")
    assert failed.value.code is code


def test_nobody_answers() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        client = RegistryClient(f"http://127.0.0.1:{taken.getsockname()[1]}", TIMEOUT_SECONDS)
        with pytest.raises(Failure, match="headrace serve") as failed:
            client.call("GET", "/subjects")
    assert failed.value.code is ExitCode.CANNOT_CONNECT


def test_names_are_quoted() -> None:
    assert subject_path("a/b c") == "/subjects/a%2Fb%20c"
    assert version_path("s", "1/2") == "/subjects/s/versions/1%2F2"
    assert version_path("s", None) == "/subjects/s/versions"

"""The gate: who gets through, and what the others are told."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from headrace.frontends.http.gate import CHALLENGE, Gate, host_of, principal_of
from headrace.security.acl import ANONYMOUS, Principal

ALICE = Principal.user("alice")


class LogIn:
    """Knows one header."""

    async def maybe_principal(self, header: bytes | None, host: str) -> Principal | None:
        return ALICE if (header, host) == (b"right", "10.0.0.7") else None


def ask(path: str, *headers: bytes) -> tuple[list[Principal], list[Any]]:
    """Who was let through, and what was sent instead."""
    let_through: list[Principal] = []
    sent: list[Any] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        let_through.append(principal_of(scope))

    async def send(message: Any) -> None:
        sent.append(message)

    named = [(b"authorization", value) for value in headers]
    scope = {"type": "http", "path": path, "headers": named, "client": ("10.0.0.7", 5)}
    asyncio.run(Gate(application, LogIn())(scope, None, send))  # type: ignore[arg-type]
    return let_through, sent


def test_who_is_known_gets_through_by_name() -> None:
    assert ask("/subjects", b"right") == ([ALICE], [])


@pytest.mark.parametrize("path", ["/subjects", "/metrics", "/", "/health/", "/nowhere"])
@pytest.mark.parametrize("headers", [(), (b"wrong",), (b"right", b"right")])
def test_others_are_asked_to_log_in(path: str, headers: tuple[bytes, ...]) -> None:
    let_through, sent = ask(path, *headers)
    assert let_through == []
    start, body = sent
    assert start["status"] == 401
    assert dict(start["headers"])[b"www-authenticate"] == CHALLENGE
    assert json.loads(body["body"])["error_code"] == 401


def test_health_is_open() -> None:
    assert ask("/health") == ([ANONYMOUS], [])


def test_host_of_a_request_without_one() -> None:
    assert host_of({"client": None}) == ""

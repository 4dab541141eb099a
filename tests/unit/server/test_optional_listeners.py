"""What the launcher does about addresses that are taken, and what it says at the start."""

from __future__ import annotations

import asyncio
import logging
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from headrace.config.serve import ServeSettings
from headrace.model.errors import AddressInUse
from headrace.server.launcher import Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def settings_over(directory: Path, http_port: int, **more: str) -> ServeSettings:
    listen = f"kafka://127.0.0.1:0,http://127.0.0.1:{http_port}"
    return ServeSettings.resolve({"data": str(directory), "listen": listen, **more})


def started(settings: ServeSettings) -> list[str]:
    """The schemes that a broker with these settings serves."""

    async def run() -> list[str]:
        server = Server(settings)
        try:
            await server.start()
            return [url.partition(":")[0] for url in server.urls()]
        finally:
            await server.stop()

    return asyncio.run(run())


def test_default_http_listener_does_not_keep_the_broker_from_starting(
    tmp_path: Path, taken_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    wanted = settings_over(tmp_path, taken_port)
    kafka, http = wanted.listeners
    with caplog.at_level(logging.WARNING):
        served = started(replace(wanted, listeners=(kafka, replace(http, is_optional=True))))
    assert served == ["kafka"]
    (warning,) = [record.getMessage() for record in caplog.records]
    assert f"http://127.0.0.1:{taken_port} is left out" in warning


def test_http_listener_that_was_asked_for_does(tmp_path: Path, taken_port: int) -> None:
    with pytest.raises(AddressInUse, match=str(taken_port)):
        started(settings_over(tmp_path, taken_port))


def test_settings_without_effect_are_told_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert started(settings_over(tmp_path, 0, **{"request.timeout.ms": "5"})) == [
            "kafka",
            "http",
        ]
    (warning,) = [record.getMessage() for record in caplog.records]
    assert warning.startswith("request.timeout.ms is set, without effect: ")

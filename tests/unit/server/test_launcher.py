"""The launcher: parts come up in order, and whatever happens they go down in reverse order."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from headrace.config.serve import ServeSettings
from headrace.model.errors import AddressInUse, DirectoryLocked, StorageFailure
from headrace.server.launcher import EXIT_FAILED, Server, run

if TYPE_CHECKING:
    from pathlib import Path

MARKER = ".kafka_cleanshutdown"


def settings(directory: Path, listen: str = "kafka://127.0.0.1:0") -> ServeSettings:
    return ServeSettings.resolve({"data": str(directory), "listen": listen})


def background_threads() -> int:
    return sum(t.name.startswith("headrace-background") for t in threading.enumerate())


def test_start_and_stop_leave_a_marker_and_nothing_running(tmp_path: Path):
    async def scenario() -> None:
        server = Server(settings(tmp_path))
        await server.start()
        assert server.urls() == [f"kafka://127.0.0.1:{server.port_of('kafka')}"]
        assert not (tmp_path / MARKER).exists()
        await server.stop()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", server.port_of("kafka")), 1)

    asyncio.run(scenario())
    assert (tmp_path / MARKER).exists()
    assert background_threads() == 0


def test_listeners_of_both_kinds(tmp_path: Path):
    async def scenario() -> None:
        server = Server(settings(tmp_path, "kafka://127.0.0.1:0,http://127.0.0.1:0"))
        try:
            await server.start()
            assert server.port_of("kafka") != server.port_of("http")
            assert [url.split(":")[0] for url in server.urls()] == ["kafka", "http"]
        finally:
            await server.stop()

    asyncio.run(scenario())


def test_failed_start_is_undone_by_stop(tmp_path: Path):
    async def scenario(port: int) -> None:
        server = Server(settings(tmp_path, f"kafka://127.0.0.1:{port}"))
        with pytest.raises(AddressInUse, match="--listen"):
            await server.start()
        await server.stop()
        again = Server(settings(tmp_path))
        await again.start()  # the lock is free again
        await again.stop()

    with socket.create_server(("127.0.0.1", 0)) as other:
        asyncio.run(scenario(other.getsockname()[1]))
    assert background_threads() == 0


def test_second_server_over_a_directory_is_refused(tmp_path: Path):
    async def scenario() -> None:
        first, second = Server(settings(tmp_path)), Server(settings(tmp_path))
        await first.start()
        with pytest.raises(DirectoryLocked):
            await second.start()
        await second.stop()
        assert first.broker.topics is not None
        await first.stop()

    asyncio.run(scenario())
    assert (tmp_path / MARKER).exists()


def test_one_parts_failure_does_not_keep_the_others_from_stopping(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """The disk is gone when the logs want to write their checkpoints."""

    async def scenario() -> None:
        server = Server(settings(tmp_path / "data"))
        await server.start()
        os.rename(tmp_path / "data", tmp_path / "elsewhere")
        (tmp_path / "data").write_bytes(b"a file where the directory was")
        with pytest.raises((StorageFailure, OSError)):
            await server.stop()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", server.port_of("kafka")), 1)

    asyncio.run(scenario())
    assert background_threads() == 0
    assert not (tmp_path / "elsewhere" / MARKER).exists()
    assert any(record.levelname == "ERROR" for record in caplog.records)


def test_run_turns_an_error_into_one_line_and_a_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "data"
    path.write_bytes(b"a file")
    announced: list[list[str]] = []
    assert run(settings(path), announced.append) == EXIT_FAILED
    assert announced == []
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("headrace: cannot write to the data directory")
    assert printed.err.count("\n") == 1

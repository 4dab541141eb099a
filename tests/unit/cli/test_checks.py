"""The doctor's checks: what is fine, what is not, and what to do then."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from headrace.cli import checks
from headrace.cli.checks import Check, Status


def test_python_must_be_new_enough() -> None:
    assert checks.check_python((3, 12, 1)).status is Status.OK
    assert checks.check_python((3, 10, 9)) == Check(
        "python", Status.FAILED, "3.10.9", "install Python 3.11 or newer"
    )


@pytest.mark.parametrize(
    ("gibibytes", "status"), [(100, Status.OK), (2, Status.WARNING), (0.5, Status.FAILED)]
)
def test_disk_must_have_room(gibibytes: float, status: Status) -> None:
    check = checks.judge_disk(int(gibibytes * 2**30))
    assert check.status is status
    assert bool(check.advice) == (status is not Status.OK)


@pytest.mark.parametrize(
    ("soft", "hard", "status"),
    [
        (-1, -1, Status.OK),
        (65_536, 65_536, Status.OK),
        (2_048, 65_536, Status.WARNING),
        (256, 4_096, Status.FAILED),
    ],
)
def test_open_files_must_be_many(soft: int, hard: int, status: Status) -> None:
    check = checks.judge_open_files(soft, hard)
    assert check.status is status
    assert ("as root" in check.advice) == (status is Status.FAILED)


def test_clock_must_be_sane() -> None:
    assert checks.judge_clock(1.8e9, 1.8e9 + 1).status is Status.OK
    assert checks.judge_clock(1.8e9, 1.8e9 + 60).status is Status.WARNING
    assert checks.judge_clock(1e9, 1e9).status is Status.FAILED


@pytest.mark.parametrize(
    ("printed", "status"),
    [
        ('openjdk version "21.0.2" 2024-01-16', Status.OK),
        ('openjdk version "22-ea"', Status.OK),
        ('java version "1.8.0_401"', Status.WARNING),
        ("what?", Status.WARNING),
    ],
)
def test_java_is_judged_by_its_version(printed: str, status: Status) -> None:
    assert checks.judge_java(printed).status is status


def test_java_is_not_needed() -> None:
    assert checks.check_java(None).status is Status.WARNING
    assert checks.check_java("/nowhere/java").status is Status.WARNING


def test_directory_may_be_missing_but_must_be_writable(tmp_path: Path) -> None:
    assert checks.check_directory(tmp_path).found.endswith("is writable")
    assert checks.check_directory(tmp_path / "a" / "b").found.endswith("once made")
    assert checks.check_directory(Path("/proc/nowhere")).status is Status.FAILED


def test_port_that_is_free_is_fine() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert "is free" in checks.check_port(f"127.0.0.1:{port}").found


@pytest.mark.parametrize("bootstrap", ["nonsense", "host:", "host:x"])
def test_port_must_be_an_address(bootstrap: str) -> None:
    assert checks.check_port(bootstrap).status is Status.FAILED


@pytest.mark.parametrize(
    ("answer", "status"),
    [(b"\x00\x00\x00\x06HRdr\x00\x00", Status.OK), (b"HTTP/1.1 400 Bad\r\n", Status.FAILED)],
)
def test_port_tells_a_broker_from_other_servers(answer: bytes, status: Status) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        check = checks.check_port(f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()
    assert check.status is status


def test_all_checks_run_here(tmp_path: Path) -> None:
    found = checks.all_checks(tmp_path, "127.0.0.1:1")
    assert len({check.name for check in found}) == len(found) == 8

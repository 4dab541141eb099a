"""The checks of ``headrace doctor``. Each returns what it found and, if need be, what to do."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

PYTHON_MIN = (3, 11)
FREE_BYTES_WARN = 5 * 2**30
FREE_BYTES_MIN = 2**30
OPEN_FILES_WARN = 8_192
OPEN_FILES_MIN = 1_024
JAVA_MIN = 17
CLOCK_YEAR_MIN = 2024
CLOCK_DIFFERENCE_SECONDS_MAX = 5.0
PROBE_SECONDS_MAX = 2.0


class Status(StrEnum):
    """FAILED ends ``doctor`` with status 1; the others do not."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


class Check(NamedTuple):
    """One finding."""

    name: str
    status: Status
    found: str
    advice: str = ""


def all_checks(data_directory: Path, bootstrap: str) -> list[Check]:
    """Everything that ``doctor`` looks at."""
    return [
        check_python(sys.version_info[:3]),
        check_port(bootstrap),
        check_directory(data_directory),
        check_disk(data_directory),
        check_open_files(),
        check_clock(),
        check_client(),
        check_java(shutil.which("java")),
    ]


def check_python(version: tuple[int, ...]) -> Check:
    found = ".".join(map(str, version))
    if version[:2] < PYTHON_MIN:
        wanted = ".".join(map(str, PYTHON_MIN))
        return Check("python", Status.FAILED, found, f"install Python {wanted} or newer")
    return Check("python", Status.OK, found)


def check_port(bootstrap: str) -> Check:
    """Free is as good as a broker that answers; anything else in the way is not."""
    host, _, port_text = bootstrap.rpartition(":")
    if not host or not port_text.isdigit():
        return Check("port", Status.FAILED, bootstrap, "expected --bootstrap HOST:PORT")
    host = host.strip("[]")
    try:
        with socket.create_connection((host, int(port_text)), PROBE_SECONDS_MAX) as probe:
            answer = _api_versions(probe)
    except ConnectionRefusedError:
        return Check("port", Status.OK, f"{bootstrap} is free: no broker runs there")
    except (OSError, OverflowError) as error:
        return Check(
            "port", Status.WARNING, f"{bootstrap}: {error}", "check the address and the firewall"
        )
    if answer:
        return Check("port", Status.OK, f"a broker answers at {bootstrap}")
    return Check(
        "port",
        Status.FAILED,
        f"{bootstrap} is taken by something that is not a Kafka broker",
        "stop it, or choose another port: headrace serve --listen kafka://127.0.0.1:PORT",
    )


def check_directory(directory: Path) -> Check:
    existing = _nearest_existing(directory)
    try:
        with tempfile.TemporaryFile(dir=existing) as probe:
            probe.write(b"x")
            os.fsync(probe.fileno())
    except OSError as error:
        return Check(
            "directory",
            Status.FAILED,
            f"cannot write in {existing}: {error.strerror}",
            "change its owner or mode, or choose another: headrace serve --data DIR",
        )
    found = f"{directory} is writable"
    return Check("directory", Status.OK, found if directory.exists() else f"{found}, once made")


def check_disk(directory: Path) -> Check:
    free = shutil.disk_usage(_nearest_existing(directory)).free
    return judge_disk(free)


def judge_disk(free_bytes: int) -> Check:
    found = f"{free_bytes / 2**30:.1f} GiB free"
    if free_bytes >= FREE_BYTES_WARN:
        return Check("disk", Status.OK, found)
    status = Status.WARNING if free_bytes >= FREE_BYTES_MIN else Status.FAILED
    return Check("disk", status, found, "free some space, or set log.retention.bytes")


def check_open_files() -> Check:
    import resource

    return judge_open_files(*resource.getrlimit(resource.RLIMIT_NOFILE))


def judge_open_files(soft: int, hard: int) -> Check:
    """The soft limit counts; -1 is no limit."""
    found = f"{soft} open files allowed"
    if soft < 0 or soft >= OPEN_FILES_WARN:
        return Check("open files", Status.OK, found)
    status = Status.WARNING if soft >= OPEN_FILES_MIN else Status.FAILED
    reachable = "" if hard < 0 or hard >= OPEN_FILES_WARN else " (as root: the hard limit is lower)"
    return Check("open files", status, found, f"raise it: ulimit -n 65536{reachable}")


def check_clock() -> Check:
    """Against itself and against the file system's, which a network mount has from elsewhere."""
    with tempfile.NamedTemporaryFile() as probe:
        modified = os.stat(probe.name).st_mtime
    return judge_clock(time.time(), modified)


def judge_clock(now_seconds: float, file_seconds: float) -> Check:
    found = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now_seconds))
    advice = "set the clock, for instance with chrony: records are stamped and expired by it"
    if time.gmtime(now_seconds).tm_year < CLOCK_YEAR_MIN:
        return Check("clock", Status.FAILED, found, advice)
    difference = abs(now_seconds - file_seconds)
    if difference > CLOCK_DIFFERENCE_SECONDS_MAX:
        return Check("clock", Status.WARNING, f"{found}, files say {difference:.0f} s off", advice)
    return Check("clock", Status.OK, found)


def check_client() -> Check:
    if find_spec("confluent_kafka") is None:
        return Check(
            "client",
            Status.WARNING,
            "confluent-kafka is not installed",
            "for topic, group, produce, consume: pip install 'headrace[client]'",
        )
    return Check("client", Status.OK, "confluent-kafka is installed")


def check_java(executable: str | None) -> Check:
    """Only Spark and ZooKeeper need it."""
    advice = f"only for Spark and ZooKeeper: install Java {JAVA_MIN} or newer"
    if executable is None:
        return Check("java", Status.WARNING, "not found", advice)
    try:
        printed = subprocess.run(
            [executable, "-version"], capture_output=True, text=True, timeout=10, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError) as error:
        return Check("java", Status.WARNING, f"{executable} does not run: {error}", advice)
    return judge_java(printed)


def judge_java(printed: str) -> Check:
    """The first line is like: openjdk version "21.0.2" 2024-01-16."""
    quoted = printed.partition('"')[2].partition('"')[0]
    major = quoted.split(".")[0].split("-")[0]
    advice = f"only for Spark and ZooKeeper: install Java {JAVA_MIN} or newer"
    if not major.isdigit():
        return Check("java", Status.WARNING, "its version cannot be read", advice)
    if int(major) < JAVA_MIN:
        return Check("java", Status.WARNING, quoted, advice)
    return Check("java", Status.OK, quoted)


def _nearest_existing(directory: Path) -> Path:
    path = directory.absolute()
    while not path.exists():
        path = path.parent
    return path


def _api_versions(probe: socket.socket) -> bool:
    """Send ApiVersions v0 (header v1, no client id); a broker repeats the correlation id."""
    correlation = b"HRdr"
    request = b"\x00\x12\x00\x00" + correlation + b"\xff\xff"
    probe.sendall(len(request).to_bytes(4, "big") + request)
    try:
        answer = probe.recv(8, socket.MSG_WAITALL)
    except TimeoutError:
        return False
    return answer[4:8] == correlation

"""A PostgreSQL server of the test's own, in a temporary directory, as a user other than root."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

DEBIAN_BINARIES = Path("/usr/lib/postgresql")
START_SECONDS_MAX = 60


def find_binaries() -> Path | None:
    """The directory of initdb and pg_ctl, the newest version first."""
    versions = sorted(DEBIAN_BINARIES.glob("*/bin/initdb"), reverse=True)
    found = str(versions[0]) if versions else shutil.which("initdb")
    return Path(found).resolve().parent if found else None


def server_user() -> str | None:
    """PostgreSQL refuses to run as root; None means "as I am"."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class PostgreSQL:
    """Use as a context manager; ``url`` is for SQLAlchemy."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self._user = server_user()
        self._directory = Path(tempfile.mkdtemp(prefix="headrace-pg-"))
        self._port = free_port()
        self.url = f"postgresql+psycopg://headrace@127.0.0.1:{self._port}/postgres"

    def __enter__(self) -> PostgreSQL:
        if self._user is not None:
            shutil.chown(self._directory, self._user)
        data = self._directory / "data"
        self._run("initdb", "-D", data, "-U", "headrace", "-A", "trust", "--no-sync")
        options = f"-p {self._port} -c listen_addresses=127.0.0.1 -k {self._directory}"
        log = self._directory / "log"
        self._run("pg_ctl", "-D", data, "-o", options, "-l", log, "-w", "start")
        return self

    def __exit__(self, *_: object) -> None:
        self._run("pg_ctl", "-D", self._directory / "data", "-m", "immediate", "-w", "stop")
        shutil.rmtree(self._directory)

    def _run(self, name: str, *arguments: object) -> None:
        command = [str(self._binaries / name), *map(str, arguments)]
        # Not captured by pipes: the server would inherit them, and they would stay open.
        with open(os.devnull, "wb") as nowhere:
            subprocess.run(
                command,
                check=True,
                stdout=nowhere,
                stderr=nowhere,
                user=self._user,
                cwd=self._directory,
                timeout=START_SECONDS_MAX,
            )

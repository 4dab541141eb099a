"""``headrace pipeline supervise``: the process that the broker keeps while topics have tables."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.job_logging import configure_job_logging
from headrace.pipeline.jobs.lifeline import watch_lifeline
from headrace.pipeline.jobs.limited_log import LOG_BYTES_MAX, older_part
from headrace.pipeline.jobs.shipping import send_code
from headrace.pipeline.jobs.table_topics import Connection, TableJobs, parse_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from headrace.pipeline.jobs.state import StateDirectory

log = logging.getLogger(__name__)

EXIT_OK = 0
EXIT_SESSION_LOST = 1
POLL_SECONDS = 1.0
SPARK_SETTINGS = {"spark.scheduler.mode": "FAIR"}
"""The jobs share one session: a large backfill must not hold up the others."""
CLIENT_CONFIG_LENGTH_MAX = 2**20


class LatestLine:
    """What was said last. Each line says everything: one that was not taken yet is passed over."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._line: bytes | None = None

    def put(self, line: bytes) -> None:
        with self._changed:
            self._line = line
            self._changed.notify()

    def maybe_take(self, seconds: float) -> bytes | None:
        """None: nothing was said for so long."""
        with self._changed:
            if self._line is None:
                self._changed.wait(seconds)
            taken, self._line = self._line, None
        return taken


class SharedSession:
    """One Spark session, made for the first job that needs it."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._session: Any = None

    def get(self) -> Any:
        with self._lock:
            if self._session is None:
                self._session = self._make()
        # A pool for each thread: within one pool jobs wait for each other, also in fair mode.
        pool = threading.current_thread().name
        self._session.sparkContext.setLocalProperty("spark.scheduler.pool", pool)
        return self._session

    def is_lost(self) -> bool:
        """Whether there was one, and its Java is gone: nothing in this process will work again."""
        session = self._session
        if session is None:
            return False
        try:
            return bool(session.sparkContext._jsc.sc().isStopped())
        except Exception as error:
            log.error("Spark does not answer: %s", type(error).__name__)
            return True

    def stop(self) -> None:
        if self._session is not None and not self.is_lost():
            self._session.stop()


def supervise_tables(
    state: StateDirectory,
    connection: Connection,
    make_session: Callable[[], Any],
    told: int,
    *,
    make_jobs: Callable[..., TableJobs] = TableJobs,
    each_round: Callable[[], None] = lambda: None,
) -> int:
    """Until the pipe ``told`` ends or SIGTERM comes; the exit status is the answer."""
    stop = threading.Event()
    said = LatestLine()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    # From a terminal Ctrl-C goes to the broker too, which ends us by itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    watch_lifeline(told, stop, said.put)
    session = SharedSession(make_session)
    jobs = make_jobs(state, connection, session.get)
    try:
        while not stop.is_set():
            line = said.maybe_take(POLL_SECONDS)
            if line is not None:
                jobs.bring_to(parse_tables(line))
            if session.is_lost():
                return EXIT_SESSION_LOST
            each_round()
        return EXIT_OK
    finally:
        jobs.stop()
        session.stop()


def read_client_config(path: Path) -> dict[str, str]:
    """NAME=VALUE lines; # begins a comment. InvalidDefinition names a line that is neither."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(CLIENT_CONFIG_LENGTH_MAX + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidDefinition(f"{path}: {error}") from error
    if len(text) > CLIENT_CONFIG_LENGTH_MAX:
        raise InvalidDefinition(f"{path}: longer than {CLIENT_CONFIG_LENGTH_MAX} characters")
    settings = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        name, equals, value = stripped.partition("=")
        if not equals or not name.strip():
            raise InvalidDefinition(f"{path}, line {number}: expected NAME=VALUE")
        settings[name.strip()] = value.strip()
    return settings


def table_session(master: str, directory: Path) -> Any:
    """The session of all jobs of table topics; ``directory`` keeps what is sent to executors."""
    from headrace.pipeline.session import spark_session

    spark = spark_session("headrace tables", master, SPARK_SETTINGS)
    send_code(spark, (), directory)
    return spark


def connection_to(bootstrap: str, settings: Mapping[str, str]) -> Connection:
    """Ask the broker who it is."""
    from headrace.pipeline.broker_view import BrokerView

    view = BrokerView({"bootstrap.servers": bootstrap, **settings})
    try:
        options = {f"kafka.{name}": value for name, value in settings.items()}
        return Connection(bootstrap, options, view.cluster_id())
    finally:
        view.close()


def log_to_file(path: Path) -> None:
    """From now on all that this process and its Java say goes to a file, not to the broker's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for standard in (sys.stdout.fileno(), sys.stderr.fileno()):
        os.dup2(descriptor, standard)
    os.close(descriptor)
    configure_job_logging()


def keep_short(path: Path) -> None:
    """Begin a log anew that has grown too long; what it held is beside it.

    It is copied and cut, not renamed: Java has the same file open, and appends.
    """
    try:
        if path.stat().st_size > LOG_BYTES_MAX:
            shutil.copyfile(path, older_part(path))
            os.truncate(path, 0)
    except OSError as error:  # a full disk: the next round may do better
        log.warning("the log %s cannot be cut: %s", path, error)

"""A Parquet job that loses its driver, its workers or its broker, again and again.

PIPELINE_KILLS=20 for the long form (not HEADRACE_: the broker takes that for an option of its own).
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.broker_process import BrokerProcess

from .lake import KINDS, assert_each_once, files_of
from .parquet_driver import BATCH, STARTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("PIPELINE_KILLS", "2"))
BATCHES = 5 * (KILLS + 1)
RECORDS_PER_BATCH = 300
PARTITIONS = 3
RUN_SECONDS_MAX = 300.0
PAUSE_SECONDS_MAX = 1.0
CALL_SECONDS = 60.0
DRIVER = Path(__file__).with_name("parquet_driver.py")
TOPIC = "in"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path / "broker") as running:
        yield running


def fill(broker: BrokerProcess) -> None:
    settings = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}
    admin = AdminClient(settings)
    admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result(CALL_SECONDS)
    producer = Producer(settings)
    for number in range(BATCHES * RECORDS_PER_BATCH):
        producer.produce(TOPIC, b"value-%d" % number, partition=number % PARTITIONS)
    assert producer.flush(CALL_SECONDS) == 0


class Run:
    """One life of the driver, in a process group of its own."""

    def __init__(self, broker: BrokerProcess, directory: Path, kind: str) -> None:
        self._log_path = directory / "driver.log"
        arguments = [broker.bootstrap_servers, TOPIC, str(directory / "lake"), kind]
        arguments += [str(directory / "checkpoint"), str(RECORDS_PER_BATCH)]
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(DRIVER), *arguments],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self._watchdog = threading.Timer(RUN_SECONDS_MAX, self.kill)
        self._watchdog.start()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.cancel()
        self.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def wait_for(self, word: str) -> None:
        """Returns at the next line that begins so, or at the end of the run."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(word):
                return

    def finish(self) -> None:
        self.wait_for("nothing that is ever printed")
        assert self._process.wait() == 0, self._log_path.read_text("utf-8", "replace")[-4_000:]

    def kill(self) -> None:
        """Driver, Java, and every Python worker."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def kill_worker(self, chance: random.Random) -> None:
        """One of the Python processes that Spark has forked; there may be none just now."""
        workers = [pid for pid in _below(self._process.pid) if b"pyspark.daemon" in _command(pid)]
        if workers:
            _kill(chance.choice(workers))


def _below(pid: int) -> list[int]:
    """All processes that descend from this one."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    found, unseen = [], [pid]
    while unseen:
        below = children.get(unseen.pop(), [])
        found += below
        unseen += below
    return found


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it was quicker


def assert_all_there(directory: Path, kind: str) -> None:
    counts = [BATCHES * RECORDS_PER_BATCH // PARTITIONS] * PARTITIONS
    assert_each_once(files_of(kind, str(directory / "lake")), counts)


@pytest.mark.parametrize("kind", KINDS)
def test_the_driver_is_killed(broker: BrokerProcess, tmp_path: Path, kind: str) -> None:
    fill(broker)
    chance = random.Random(6)
    for number in range(KILLS):
        with Run(broker, tmp_path, kind) as run:
            run.wait_for(STARTED if number % 2 else BATCH)
            time.sleep(chance.uniform(0, PAUSE_SECONDS_MAX))
    with Run(broker, tmp_path, kind) as run:
        run.finish()
    assert_all_there(tmp_path, kind)


def kill_worker(run: Run, broker: BrokerProcess, chance: random.Random) -> None:
    run.kill_worker(chance)


def kill_broker(run: Run, broker: BrokerProcess, chance: random.Random) -> None:
    broker.kill()
    time.sleep(chance.uniform(0, PAUSE_SECONDS_MAX))
    broker.start()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kill", [kill_worker, kill_broker])
def test_the_driver_lives_on(
    broker: BrokerProcess,
    tmp_path: Path,
    kind: str,
    kill: Callable[[Run, BrokerProcess, random.Random], None],
) -> None:
    fill(broker)
    chance = random.Random(7)
    with Run(broker, tmp_path, kind) as run:
        for _ in range(KILLS):
            run.wait_for(BATCH)
            time.sleep(chance.uniform(0, PAUSE_SECONDS_MAX / 10))
            kill(run, broker, chance)
        run.finish()
    assert_all_there(tmp_path, kind)

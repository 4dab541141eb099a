"""A topic-to-topic job whose driver, workers or broker are killed again and again.

SINK_KILLS=20 for the long form.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

pytest.importorskip("pyspark")

from tests.interop.broker_process import BrokerProcess

from .committed import committed
from .driver_run import DriverRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Each kill of a driver costs the start of another one.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

KILLS = int(os.environ.get("SINK_KILLS", "3"))
LIVES_MAX = 3 * KILLS + 3
RECORDS = 1_000 * (KILLS + 2)
RECORDS_PER_BATCH = 500
PARTITIONS = 3
PAUSE_SECONDS_MAX = 2.5
DRIVER = Path(__file__).with_name("sink_driver.py")


@pytest.fixture
def broker_process(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path / "broker") as process:
        yield process


def fill(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [NewTopic("in", PARTITIONS, 1), NewTopic("out", 2, 1)]
    for created in admin.create_topics(topics).values():
        created.result(30)
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(RECORDS):
        producer.produce("in", b"", partition=number % PARTITIONS)
    assert producer.flush(60) == 0


def run_to_the_end(arguments: list[str], hurt: Callable[[DriverRun, random.Random], bool]) -> int:
    """Start the job until it ends by itself, and hurt it on the way; how often it was hurt."""
    chance = random.Random(6)
    hurts = 0
    for _ in range(LIVES_MAX):
        with DriverRun(DRIVER, arguments) as run:
            # A line is printed at the start and after every batch.
            while hurts < KILLS and run.next_line():
                time.sleep(chance.uniform(0, PAUSE_SECONDS_MAX))
                hurts += hurt(run, chance)
            if run.finish() == 0:
                return hurts
    raise AssertionError(f"the job did not come to its end in {LIVES_MAX} lives")


def check_output(bootstrap: str, *, is_exact: bool) -> None:
    found = Counter(message.value() for message in committed(bootstrap, "out"))
    numbers = range(RECORDS)
    wanted = {f"{number % PARTITIONS}-{number // PARTITIONS}".encode() for number in numbers}
    assert set(found) == wanted
    if is_exact:
        assert set(found.values()) == {1}


def kill_driver(run: DriverRun, chance: random.Random) -> bool:
    return run.kill_driver()


def kill_worker(run: DriverRun, chance: random.Random) -> bool:
    return run.kill_worker(chance.randrange(100))


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
@pytest.mark.parametrize("hurt", [kill_driver, kill_worker])
def test_kills_of_processes_of_the_job(
    broker_process: BrokerProcess,
    tmp_path: Path,
    delivery: str,
    hurt: Callable[[DriverRun, random.Random], bool],
) -> None:
    bootstrap = broker_process.bootstrap_servers
    fill(bootstrap)
    checkpoint = tmp_path / "checkpoint"
    arguments = [bootstrap, "in", "out", str(checkpoint), delivery, str(RECORDS_PER_BATCH)]
    assert run_to_the_end(arguments, hurt) == KILLS
    check_output(bootstrap, is_exact=delivery == "exactly-once")
    assert list(checkpoint.rglob("*.arrow")) == []


def test_kills_of_the_broker(broker_process: BrokerProcess, tmp_path: Path) -> None:
    bootstrap = broker_process.bootstrap_servers
    fill(bootstrap)

    def kill_broker(run: DriverRun, chance: random.Random) -> bool:
        broker_process.kill()
        time.sleep(chance.uniform(0, PAUSE_SECONDS_MAX))
        broker_process.start()
        return True

    checkpoint = str(tmp_path / "checkpoint")
    arguments = [bootstrap, "in", "out", checkpoint, "exactly-once", str(RECORDS_PER_BATCH)]
    assert run_to_the_end(arguments, kill_broker) == KILLS
    assert broker_process.bootstrap_servers == bootstrap
    check_output(bootstrap, is_exact=True)

"""The parts of the pipeline soak that judge and kill, without Spark."""

from __future__ import annotations

import json
import random
import sys

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Producer

from headrace.testing import Broker
from headrace.testing.history_faults import Fault
from soak.administrator import Administrator
from soak.pipeline import driver_process, outputs
from soak.pipeline.driver_process import DriverProcess, maybe_event
from soak.pipeline.feeder import Feeder
from soak.pipeline.judging import OUTPUT, judge
from soak.pipeline.outputs import load_table, load_topic, parquet
from soak.pipeline.work import INPUT_TOPIC, MARK, DriverWork
from soak.topics import plain
from tests.interop.deadline import wait_until

WORK = DriverWork("plain", "127.0.0.1:9092", "/table", "/checkpoint", 0.5, {"a": "b"})
WAIT_SECONDS = 30.0
SAYS = 'import json; print(json.dumps({"event": "started"}))\n'


def verdict(rows, sent):
    with duckdb.connect() as connection:
        connection.execute(
            f'CREATE TABLE {OUTPUT} ("partition" INTEGER, "offset" BIGINT, is_right BOOLEAN)'
        )
        if rows:
            connection.executemany(f"INSERT INTO {OUTPUT} VALUES (?, ?, ?)", rows)
        return judge(connection, sent)


def all_rows(*sent):
    return [(part, offset, True) for part, count in enumerate(sent) for offset in range(count)]


def test_all_that_was_sent_is_right():
    report = verdict(all_rows(3, 0, 2), [3, 0, 2])
    assert report.is_clean
    assert report.counts == {
        "records in the source": 5,
        "records in the output": 5,
        "different offsets in the output": 5,
    }


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], {Fault.LOST: 3}),
        (all_rows(2), {Fault.LOST: 1}),
        ([*all_rows(3), (0, 1, True), (0, 1, True)], {Fault.DUPLICATED: 2}),
        ([*all_rows(3), (0, 3, True)], {Fault.PHANTOM: 1}),
        ([*all_rows(3), (1, 0, True)], {Fault.PHANTOM: 1}),
        ([*all_rows(2), (0, 2, False)], {Fault.WRONG_CONTENT: 1}),
        ([*all_rows(2), (0, 2, None)], {Fault.WRONG_CONTENT: 1}),
        ([*all_rows(3), (None, None, None)], {Fault.PHANTOM: 1, Fault.WRONG_CONTENT: 1}),
    ],
)
def test_each_fault_is_found(rows, expected):
    report = verdict(rows, [3])
    assert report.violations == expected
    assert report.examples


def test_files_are_read_with_their_content(tmp_path):
    rows = {
        "partition": pa.array([0, 0, 1], pa.int32()),
        "offset": pa.array([0, 1, 0], pa.int64()),
        "key": pa.array([b"0-0", b"0-1", b"1-0"], pa.binary()),
        "value": pa.array([b"0-0", b"0-7", b"1-0"], pa.binary()),
    }
    for number, name in enumerate(("a", "b")):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table(rows).slice(2 * number, 2), tmp_path / name / "x.parquet")
    with duckdb.connect() as connection:
        load_table(connection, parquet([f"{tmp_path}/**/*.parquet"]))
        report = judge(connection, [2, 1])
    assert report.violations == {Fault.WRONG_CONTENT: 1}
    assert report.examples[0].detail == "offset 1"


def test_feeder_and_topic_are_judged_together(monkeypatch):
    """What the feeder has sent, copied by hand, is what the judge wants to see."""
    with Broker() as broker:
        address = broker.bootstrap_servers
        Administrator(address).create([plain(INPUT_TOPIC, 2), plain("copy", 1)])
        feeder = Feeder(address, 2, 2_000)
        feeder.start()
        wait_until(lambda: min(feeder.acknowledged) > 20, "records", WAIT_SECONDS)
        sent = feeder.finish()
        assert feeder.failures == []
        copier = Producer({"bootstrap.servers": address})
        for partition, count in enumerate(sent):
            for number in range(count):
                name = f"{partition}-{number}"
                copier.produce("copy", MARK + name, name)
        assert copier.flush(WAIT_SECONDS) == 0
        monkeypatch.setattr(outputs, "OUTPUT_PARTITIONS", 1)
        with duckdb.connect() as connection:
            load_topic(connection, address, "copy")
            report = judge(connection, sent)
    report.raise_if_violated()
    assert report.counts["records in the output"] == sum(sent)


def test_work_goes_through_a_command_line():
    assert DriverWork.from_json(WORK.to_json()) == WORK


@pytest.mark.parametrize("line", ["", "INFO x", '{"event": "batch", "posi', "[1]", "7"])
def test_other_lines_are_no_events(line):
    assert maybe_event(line) == {}


@pytest.fixture
def make_driver(tmp_path, monkeypatch):
    """Drivers that run a small program instead of a job."""
    made = []

    def make(program):
        script = tmp_path / f"program{len(made)}.py"
        script.write_text(program)
        monkeypatch.setattr(driver_process, "command", lambda work: [sys.executable, str(script)])
        made.append(DriverProcess(WORK, tmp_path / "log"))
        return made[-1]

    yield make
    for driver in made:
        driver.kill()


def test_driver_is_listened_to_and_stopped(make_driver):
    batch = json.dumps({"event": "batch", "id": 3, "positions": {"0": 5, "1": 7}})
    driver = make_driver(SAYS + f"print({batch!r}, flush=True)\nimport time; time.sleep(60)")
    wait_until(lambda: driver.batches == 1, "the batch", WAIT_SECONDS)
    assert driver.is_started
    assert driver.positions == {0: 5, 1: 7}
    assert driver.status is None
    assert driver.stop() != 0  # SIGTERM, which this one does not know
    assert driver.processes() == []


def test_driver_dies_with_its_group_and_leaves_its_last_words(make_driver):
    child = (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    )
    driver = make_driver(
        child + "import time; print('help', file=sys.stderr, flush=True); time.sleep(60)"
    )
    wait_until(lambda: "help" in driver.last_words(), "its words", WAIT_SECONDS)
    assert len(driver.processes()) == 2
    assert driver.kill()
    wait_until(lambda: driver.processes() == [], "the end of its child", WAIT_SECONDS)
    assert not driver.kill()


def test_only_python_of_spark_is_taken_for_a_worker(make_driver, tmp_path):
    """A process that merely has the name in its command line stands for one, out of its group."""
    child = (
        "import os, subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)', 'pyspark.daemon'],"
        " preexec_fn=lambda: os.setpgid(0, 0))\n"
    )
    driver = make_driver(child + SAYS + "sys.stdout.flush(); time.sleep(60)")
    wait_until(lambda: driver.is_started, "its start", WAIT_SECONDS)
    worker = next(each for each in driver.processes() if each.is_python_of_spark)
    assert driver.kill_worker(random.Random(1))
    wait_until(lambda: not is_alive(worker.pid), "the end of the worker", WAIT_SECONDS)
    assert driver.status is None
    assert not driver.kill_worker(random.Random(1))


def is_alive(pid):
    """A child of somebody else who does not look after it stays as a zombie."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_driver_that_cannot_start_says_so(make_driver):
    driver = make_driver("raise SystemExit('no Java')")
    wait_until(lambda: driver.status is not None, "its end", WAIT_SECONDS)
    assert driver.status == 1
    assert "no Java" in driver.last_words()

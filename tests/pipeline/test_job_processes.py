"""Jobs as people start them: processes, kill -9, table topics beside a broker.

Each test starts a Spark of its own, outside of the session of the other tests.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

import duckdb
from confluent_kafka import Producer

from headrace.pipeline.jobs.process_identity import maybe_identity
from headrace.pipeline.jobs.state import StateDirectory
from tests.interop.broker_process import BrokerProcess
from tests.interop.deadline import wait_until

from .topics import new_topic

if TYPE_CHECKING:
    from headrace.testing import Broker

TEST_SECONDS_MAX = 1_200  # several starts of Spark, on a machine with other things to do
pytestmark = [pytest.mark.slow, pytest.mark.timeout(TEST_SECONDS_MAX)]

RECORDS = 500
JOB_SECONDS_MAX = 300.0
POLL_SECONDS = 0.5


def headrace(*arguments: str) -> Any:
    """One verb; its JSON."""
    command = [sys.executable, "-m", "headrace", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=JOB_SECONDS_MAX)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def produce(bootstrap: str, topic: str, count: int = RECORDS) -> None:
    made = Producer({"bootstrap.servers": bootstrap})
    for number in range(count):
        made.produce(topic, b'{"n": %d}' % number, b"%d" % number, partition=number % 2)
    assert made.flush(30) == 0


def offsets_in(table: Path) -> list[tuple[int, int]]:
    """By DuckDB, over whatever files a pattern finds."""
    pattern = f"{table}/**/*.parquet"
    if not list(table.glob("**/*.parquet")):
        return []
    query = (
        'SELECT partition, "offset" FROM read_parquet(?, hive_partitioning = false) ORDER BY ALL'
    )
    return duckdb.execute(query, [pattern]).fetchall()


def all_offsets(count: int) -> list[tuple[int, int]]:
    return [(partition, offset) for partition in (0, 1) for offset in range(count // 2)]


def children_of(pid: int) -> list[int]:
    """All processes below one."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *children_of(child)]
    return found


def lag_of(bootstrap: str, topic: str) -> int | None:
    command = [sys.executable, "-m", "headrace", "group", "describe", f"headrace-table-{topic}"]
    done = subprocess.run([*command, "-b", bootstrap, "--json"], capture_output=True, text=True)
    if done.returncode:
        return None
    rows = json.loads(done.stdout)["offsets"]
    return sum(row["lag"] for row in rows) if len(rows) == 2 else None


def wait_for(condition: Any, what: str) -> None:
    wait_until(condition, what, JOB_SECONDS_MAX, interval_s=POLL_SECONDS)


def test_detached_job_survives_the_death_of_its_worker(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kill -9 of Java: the supervisor starts the worker again; stop; nothing is left over."""
    monkeypatch.setenv("HEADRACE_STATE", str(tmp_path / "state"))
    topic, table = new_topic(broker), tmp_path / "table"
    produce(broker.bootstrap_servers, topic)
    place = ["--topic", topic, "--to", str(table), "-b", broker.bootstrap_servers]
    place += ["--master", "local[2,4]", "--every", "500 ms", "--follow", "--detach"]
    started = headrace("pipeline", "parquet", *place, "--name", "followed")
    wait_for(lambda: len(offsets_in(table)) == RECORDS, "the first records")
    below = children_of(started["pid"])
    worker = below[0]
    os.kill(worker, signal.SIGKILL)
    produce(broker.bootstrap_servers, topic)
    wait_for(lambda: len(offsets_in(table)) >= 2 * RECORDS, "the records after the kill")
    assert offsets_in(table) == all_offsets(2 * RECORDS)
    status = headrace("pipeline", "status", "followed")
    assert (status["state"], status["restarts"]) == ("running", 1)
    assert "SIGKILL" in status["last_error"]
    below += children_of(started["pid"])
    assert headrace("pipeline", "stop", "followed") == {"stopped": ["followed"], "killed": []}
    wait_for(lambda: all(maybe_identity(pid) is None for pid in below), "the end of all processes")
    assert headrace("pipeline", "status", "followed")["state"] == "stopped"


def test_table_topic_is_kept_through_kills_and_restarts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, table = tmp_path / "state", tmp_path / "table"
    monkeypatch.setenv("HEADRACE_STATE", str(state))
    options = ("--set", "headrace.table.spark.master=local[2,4]")
    with BrokerProcess(tmp_path / "data", options, stop_timeout_s=120) as broker:
        at = ("-b", broker.bootstrap_servers)
        headrace("topic", "create", "orders", "--partitions", "2", *at)
        place = ("--table", "plain", "--to", str(table), "--schema", "json")
        headrace("topic", "alter", "orders", *place, *at)
        produce(broker.bootstrap_servers, "orders")
        wait_for(lambda: lag_of(broker.bootstrap_servers, "orders") == 0, "the table")
        assert offsets_in(table) == all_offsets(RECORDS)
        (job,) = StateDirectory(state).jobs()
        keeper = job.maybe_process()
        assert keeper is not None
        os.kill(keeper.pid, signal.SIGKILL)
        produce(broker.bootstrap_servers, "orders")
        wait_for(lambda: lag_of(broker.bootstrap_servers, "orders") == 0, "the table again")
        assert offsets_in(table) == all_offsets(2 * RECORDS)
        below = children_of(broker.pid)
        assert below
        broker.kill()
        wait_for(lambda: all(maybe_identity(pid) is None for pid in below), "the end of the child")
        broker.start()
        produce(broker.bootstrap_servers, "orders")
        wait_for(lambda: lag_of(broker.bootstrap_servers, "orders") == 0, "the table once more")
        assert offsets_in(table) == all_offsets(3 * RECORDS)
        below = children_of(broker.pid)
        headrace("topic", "alter", "orders", "--table", "none", *at)
        wait_for(lambda: job.maybe_process() is None, "the end of the job")
        assert broker.terminate() == 0
    wait_for(lambda: all(maybe_identity(pid) is None for pid in below), "the end of all processes")
    values = duckdb.execute(f"SELECT sum(n) FROM read_parquet('{table}/**/*.parquet')").fetchone()
    assert values == (3 * sum(range(RECORDS)),)

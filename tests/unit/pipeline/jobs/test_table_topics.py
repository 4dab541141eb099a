"""Jobs of table topics: brought to what is wanted, tried again, ended."""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from headrace.pipeline.jobs import table_supervision
from headrace.pipeline.jobs.backoff import Backoff
from headrace.pipeline.jobs.definition import definition_text, parse_definition
from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.limited_log import older_part
from headrace.pipeline.jobs.process_identity import own_identity
from headrace.pipeline.jobs.progress import JobProgress
from headrace.pipeline.jobs.state import StateDirectory
from headrace.pipeline.jobs.status import JobState
from headrace.pipeline.jobs.table_supervision import (
    LatestLine,
    SharedSession,
    keep_short,
    read_client_config,
)
from headrace.pipeline.jobs.table_topics import (
    Connection,
    TableJob,
    TableJobs,
    TableTopic,
    checkpoint_name,
    definition_of,
    job_name,
    parse_tables,
    without_options,
)

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.pipeline.jobs.run import JobContext

CONNECTION = Connection("broker:9092", {"kafka.security.protocol": "SSL"}, "aB-3_dEfGh")
ORDERS = TableTopic("orders", "delta", "/lake/orders", "json")
QUICK = Backoff(first_seconds=0.01, seconds_max=0.01)
WAIT_SECONDS = 30.0


def test_what_the_broker_says() -> None:
    line = json.dumps({"tables": [ORDERS._asdict()]}).encode()
    assert parse_tables(line) == {"orders": ORDERS}
    assert parse_tables(b'{"tables": []}') == {}


def test_definition_of_a_table_topic_is_a_legal_one() -> None:
    definition = definition_of(ORDERS, CONNECTION)
    assert parse_definition(definition_text(definition)) == definition
    assert definition.name == "table-orders-aB3dEf"
    assert definition.group == "headrace-table-orders"
    assert definition.source.client_settings()["security.protocol"] == "SSL"


def test_each_place_of_a_table_has_its_own_checkpoint() -> None:
    places = [ORDERS, ORDERS._replace(location="/other"), ORDERS._replace(format="plain")]
    names = {checkpoint_name(definition_of(each, CONNECTION)) for each in places}
    assert len(names) == 3
    assert checkpoint_name(definition_of(ORDERS._replace(schema="raw"), CONNECTION)) in names


def test_passwords_are_not_kept() -> None:
    kept = without_options(definition_of(ORDERS, CONNECTION))
    assert kept.source.client_settings() == {"bootstrap.servers": "broker:9092"}


def test_names_of_long_topics_stay_apart() -> None:
    names = {job_name("x" * 240 + end, CONNECTION.cluster_id) for end in ("a", "b")}
    assert len(names) == 2
    assert max(map(len, names)) <= 200


def test_job_is_tried_again_after_a_fault(tmp_path: Path) -> None:
    attempts: list[JobContext] = []
    done = threading.Event()

    def run(context: JobContext) -> None:
        attempts.append(context)
        if len(attempts) < 3:
            raise RuntimeError("broker gone")
        context.on_progress(JobProgress(rows=7, lag_records=0))
        done.set()
        while not context.should_stop():
            threading.Event().wait(0.01)

    definition = definition_of(ORDERS, CONNECTION)
    directory = StateDirectory(tmp_path).job(definition.name)
    job = TableJob(directory, definition, lambda: "session", backoff=QUICK, run=run)
    job.start()
    assert done.wait(WAIT_SECONDS)
    running = directory.maybe_status(0)
    assert running is not None
    assert (running.state, running.rows, running.restarts) == (JobState.RUNNING, 7, 2)
    assert running.last_error == "RuntimeError: broker gone"
    job.stop()
    assert job.join(WAIT_SECONDS)
    stopped = directory.maybe_status(0)
    assert stopped is not None
    assert stopped.state is JobState.STOPPED
    assert attempts[0].spark == "session"


def test_job_waits_for_the_process_that_has_it(tmp_path: Path) -> None:
    """As after kill -9 of a broker that is started again at once."""
    definition = definition_of(ORDERS, CONNECTION)
    directory = StateDirectory(tmp_path).job(definition.name)
    directory.prepare(definition)
    began = threading.Event()
    job = TableJob(
        directory, definition, lambda: None, backoff=QUICK, run=lambda context: began.set()
    )
    with directory.running(own_identity()):
        job.start()
        assert not began.wait(0.1)
    assert began.wait(WAIT_SECONDS)
    job.stop()
    assert job.join(WAIT_SECONDS)


class Double:
    """A job that only remembers."""

    made: list[str]

    def __init__(self, directory: Any, definition: Any, session: Any) -> None:
        self.name = definition.source.topics[0] + " " + definition.sink.format
        self.events.append(f"made {self.name}")

    def start(self) -> None:
        self.events.append(f"started {self.name}")

    def stop(self) -> None:
        self.events.append(f"stopped {self.name}")

    def join(self, seconds: float) -> bool:
        return True

    events: list[str]


def test_jobs_are_brought_to_what_is_wanted(tmp_path: Path) -> None:
    events: list[str] = []
    kind = type("Kind", (Double,), {"events": events})
    jobs = TableJobs(StateDirectory(tmp_path), CONNECTION, lambda: None, kind)
    clicks = TableTopic("clicks", "plain", "/lake/clicks", "raw")
    jobs.bring_to({"orders": ORDERS, "clicks": clicks})
    assert events[1::2] == ["started orders delta", "started clicks plain"]
    events.clear()
    jobs.bring_to({"orders": ORDERS._replace(format="iceberg"), "clicks": clicks})
    assert events == ["stopped orders delta", "made orders iceberg", "started orders iceberg"]
    events.clear()
    jobs.bring_to({"clicks": clicks})
    assert events == ["stopped orders iceberg"]
    jobs.stop()
    assert events[1:] == ["stopped clicks plain"]


def test_session_is_made_once_and_missed_when_lost() -> None:
    made: list[Any] = []
    pools: list[tuple[str, str]] = []

    def make() -> Any:
        context = SimpleNamespace(setLocalProperty=lambda *pair: pools.append(pair))
        made.append(SimpleNamespace(sparkContext=context))
        return made[-1]

    session = SharedSession(make)
    assert not session.is_lost()
    assert session.get() is session.get()
    assert len(made) == 1
    assert pools[0] == ("spark.scheduler.pool", threading.current_thread().name)
    assert session.is_lost()  # it does not answer as a session does
    session.stop()


def test_client_config_is_lines_of_names_and_values(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("# log-in\nsasl.username = ada\n\nsasl.password=a=b\n")
    assert read_client_config(path) == {"sasl.username": "ada", "sasl.password": "a=b"}
    path.write_text("ok=1\nnonsense\n")
    with pytest.raises(InvalidDefinition, match="line 2: expected NAME=VALUE"):
        read_client_config(path)
    with pytest.raises(InvalidDefinition, match="No such file"):
        read_client_config(tmp_path / "none")


def test_supervision_ends_with_its_input(tmp_path: Path) -> None:
    """In a process of its own, since it takes over the signals."""
    import subprocess
    import sys

    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from headrace.pipeline.jobs.state import StateDirectory\n"
        "from headrace.pipeline.jobs.table_supervision import supervise_tables\n"
        "from headrace.pipeline.jobs.table_topics import Connection\n"
        "class Jobs:\n"
        "    def __init__(self, *_): pass\n"
        "    def bring_to(self, wanted): print(sorted(wanted), flush=True)\n"
        "    def stop(self): print('stopped', flush=True)\n"
        f"state = StateDirectory(Path({str(tmp_path)!r}))\n"
        "sys.exit(supervise_tables(state, Connection('b', {}, 'c'), None, sys.stdin.fileno(),"
        " make_jobs=Jobs))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"tables": [ORDERS._asdict()]}) + "\n")
    process.stdin.flush()
    assert process.stdout.readline() == "['orders']\n"
    out, _ = process.communicate(timeout=WAIT_SECONDS)
    assert (out, process.returncode) == ("stopped\n", 0)


def test_only_the_last_line_counts() -> None:
    said = LatestLine()
    assert said.maybe_take(0.001) is None
    said.put(b"one")
    said.put(b"two")
    assert said.maybe_take(WAIT_SECONDS) == b"two"
    assert said.maybe_take(0.001) is None


def test_job_without_a_place_to_run_in_is_tried_again(tmp_path: Path) -> None:
    """A state directory that is a file at first."""
    began = threading.Event()
    definition = definition_of(ORDERS, CONNECTION)
    root = tmp_path / "state"
    root.write_text("")
    job = TableJob(
        StateDirectory(root).job(definition.name),
        definition,
        lambda: None,
        backoff=QUICK,
        run=lambda context: began.set(),
    )
    job.start()
    assert not began.wait(0.1)
    root.unlink()
    assert began.wait(WAIT_SECONDS)
    job.stop()
    assert job.join(WAIT_SECONDS)


def test_log_that_grew_too_long_is_cut_for_all_who_write_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_supervision, "LOG_BYTES_MAX", 10)
    path = tmp_path / "log"
    with path.open("ab", buffering=0) as of_java:
        of_java.write(b"0123456789")
        keep_short(path)
        of_java.write(b"x")
        keep_short(path)
        of_java.write(b"new")
    assert (path.read_bytes(), older_part(path).read_bytes()) == (b"new", b"0123456789x")
    keep_short(tmp_path / "missing")

"""``headrace pipeline``: verbs over a state directory, with workers that need no Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headrace.cli import pipeline
from headrace.cli.main import main
from headrace.pipeline.jobs import supervise
from headrace.pipeline.jobs.definition import parse_definition
from headrace.pipeline.jobs.process_identity import own_identity
from headrace.pipeline.jobs.state import StateDirectory
from headrace.pipeline.jobs.supervise import first_status

DEFINITION = """
[job]
name = "orders"
[source]
topic = "orders"
[sink]
format = "delta"
path = "/lake/orders"
"""
WORKER = """
import json, os, sys
reports = os.fdopen(int(sys.argv[sys.argv.index("--reports") + 1]), "w", buffering=1)
print("a line of the log", flush=True)
"""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADRACE_STATE", str(tmp_path))
    monkeypatch.setattr(pipeline, "find_spec", lambda name: object())
    return tmp_path


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "orders.toml"
    path.write_text(DEFINITION)
    return str(path)


def does(monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Let the worker do ``body``."""
    command = [sys.executable, "-c", WORKER + body]
    monkeypatch.setattr(supervise, "worker_command", lambda job, master: command)


def known_job(state: Path) -> Any:
    job = StateDirectory(state).job("orders")
    definition = parse_definition(DEFINITION)
    job.prepare(definition)
    job.write_status(first_status(definition, 5))
    return job


def test_job_runs_in_front_and_says_how_it_ended(
    state: Path, file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    does(monkeypatch, "reports.write(json.dumps({'progress': {'rows': 5, 'files': 1}}) + chr(10))")
    assert main(["pipeline", "run", file, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["job"], shown["state"], shown["rows"], shown["files"]) == ("orders", "done", 5, 1)
    assert main(["pipeline", "logs", "orders"]) == 0
    assert capsys.readouterr().out == "a line of the log\n"


def test_job_that_fails_is_one_line_and_status_one(
    state: Path, file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = "{'fault': 'two types', 'can_retry': False}"
    does(monkeypatch, f"reports.write(json.dumps({fault}) + chr(10)); sys.exit(1)")
    assert main(["pipeline", "run", file]) == 1
    error = capsys.readouterr().err
    assert error == ("headrace: job orders failed: two types; see: headrace pipeline logs orders\n")


def test_once_makes_a_job_end_by_itself(
    state: Path, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    does(monkeypatch, "")
    assert main(["pipeline", "run", file, "--once", "--json"]) == 0
    definition = StateDirectory(state).existing_job("orders").definition()
    assert not definition.follows


def test_parquet_shows_its_definition(capsys: pytest.CaptureFixture[str], state: Path) -> None:
    arguments = ["--topic", "a", "--topic", "b", "--to", "lake", "--format", "iceberg"]
    arguments += ["--schema", "json", "--follow", "--every", "1 minute", "-X", "sasl.username=ada"]
    assert main(["pipeline", "parquet", *arguments, "--show-definition"]) == 0
    definition = parse_definition(capsys.readouterr().out)
    assert definition.name.startswith("parquet-a-b-")
    assert definition.source.topics == ("a", "b")
    assert definition.source.options == {"kafka.sasl.username": "ada"}
    assert definition.sink.path == str(Path.cwd() / "lake")
    assert definition.sink.trigger_seconds == 60


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["parquet", "-t", "x", "--to", "y", "--format", "csv"], 2, "sink.format: 'csv': expected"),
        (["parquet", "-t", "x", "--to", "y", "--schema", "xml"], 2, "sink.schema: 'xml': expected"),
        (["parquet", "-t", "x"], 2, "--to"),
        (["run", "no-such.toml"], 2, "no-such.toml: No such file"),
        (["status", "nobody"], 4, "there is no job nobody"),
        (["logs", "nobody"], 4, "there is no job nobody"),
        (["stop", "nobody"], 4, "there is no job nobody"),
        (["delete", "nobody", "--yes"], 4, "there is no job nobody"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str],
    status: int,
    message: str,
    state: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["pipeline", *arguments]) == status
    assert message in capsys.readouterr().err


def test_missing_package_says_what_to_install(
    state: Path, file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pipeline, "find_spec", lambda name: None)
    assert main(["pipeline", "run", file]) == 6
    assert "pip install 'headrace[spark]'" in capsys.readouterr().err


def test_variable_that_is_not_set_is_told_at_once(
    state: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(file).write_text(DEFINITION + '[sink.options]\npassword = "${NOT_SET_AT_ALL}"\n')
    assert main(["pipeline", "run", file, "--detach"]) == 2
    assert "sink.options.password: the environment variable" in capsys.readouterr().err


def test_list_and_status_of_jobs(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = known_job(state)
    with job.running(own_identity()):
        assert main(["pipeline", "list", "--json"]) == 0
        (row,) = json.loads(capsys.readouterr().out)
        assert (row["job"], row["state"], row["source"]) == ("orders", "starting", "orders")
        assert main(["pipeline", "status", "orders"]) == 0
        assert "target" in capsys.readouterr().out
        assert main(["pipeline", "run", str(job.definition_path)]) == 5
        assert "runs already" in capsys.readouterr().err
    assert main(["pipeline", "list"]) == 0
    assert "failed" in capsys.readouterr().out


def test_job_that_never_ran_is_new(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    StateDirectory(state).job("orders").prepare(parse_definition(DEFINITION))
    assert main(["pipeline", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"job": "orders", "state": "new"}]


def test_stop_asks_the_process(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from headrace.pipeline.jobs.process_identity import maybe_identity

    job = known_job(state)
    process = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    identity = maybe_identity(process.pid)
    assert identity is not None
    with job.running(identity):
        assert main(["pipeline", "stop", "orders", "--json"]) == 0
    process.wait()
    assert json.loads(capsys.readouterr().out) == {"stopped": ["orders"], "killed": []}


def test_stop_of_several_jobs_names_those_that_do_not_run(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known_job(state)
    assert main(["pipeline", "stop", "orders"]) == 1
    assert "not running: orders; see: headrace pipeline list" in capsys.readouterr().err


def test_job_of_a_table_topic_is_the_brokers(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = DEFINITION.replace('"orders"', '"orders"\ngroup = "headrace-table-orders"', 1)
    StateDirectory(state).job("orders").prepare(parse_definition(text))
    assert main(["pipeline", "stop", "orders"]) == 2
    assert "headrace topic alter orders --table none" in capsys.readouterr().err


def test_delete_forgets_a_job(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known_job(state)
    assert main(["pipeline", "delete", "orders", "--yes"]) == 0
    assert main(["pipeline", "status", "orders"]) == 4


def test_command_of_a_submission_can_be_shown(
    state: Path, file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from headrace.pipeline.jobs import submit

    monkeypatch.setattr(submit, "_environment", lambda: {"JAVA_HOME": "/java home"})
    monkeypatch.setenv("SPARK_HOME", "/spark")
    shared = DEFINITION.replace('"orders"', '"orders"\ncheckpoint = "/c"', 1)
    Path(file).write_text(shared)
    arguments = ["submit", file, "--master", "yarn", "--files", str(state / "s"), "--show-command"]
    assert main(["pipeline", *arguments]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("JAVA_HOME='/java home' /spark/bin/spark-submit --master yarn")


def test_submission_without_a_spark_says_what_is_missing(
    state: Path, file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from headrace.pipeline.jobs import submit

    monkeypatch.setattr(submit, "_environment", dict)
    monkeypatch.setenv("SPARK_HOME", "/no/spark")
    Path(file).write_text(DEFINITION.replace('"orders"', '"orders"\ncheckpoint = "/c"', 1))
    arguments = ["submit", file, "--master", "yarn", "--files", str(state / "s")]
    assert main(["pipeline", *arguments]) == 1
    assert "SPARK_HOME must be the directory of a Spark" in capsys.readouterr().err


def test_start_of_the_command_line_loads_nothing_of_the_pipeline() -> None:
    program = (
        "import sys, headrace.cli.main\n"
        "heavy = ('pyspark', 'pyarrow', 'numba', 'confluent_kafka', 'headrace.pipeline')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert out.stdout == "[]\n"

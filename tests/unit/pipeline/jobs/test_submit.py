"""``spark-submit``: the command, the files, and what is refused."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from headrace.model.errors import StorageFailure
from headrace.pipeline import java
from headrace.pipeline.jobs.definition import load_definition
from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.submit import make_submission, spark_submit_program

from .samples import PARQUET, SQL, definition

if TYPE_CHECKING:
    from pathlib import Path

SHARED = PARQUET.replace('"orders"', '"orders"\ncheckpoint = "/shared/c"', 1)


@pytest.fixture(autouse=True)
def spark_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_java", lambda: SimpleNamespace(home="/java"))
    monkeypatch.setenv("SPARK_HOME", "/spark")
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def test_command_has_all_that_the_job_needs(tmp_path: Path) -> None:
    made = make_submission(definition(SHARED), tmp_path, master="spark://head:7077")
    command = made.command
    assert command[:3] == ["/spark/bin/spark-submit", "--master", "spark://head:7077"]
    assert option(command, "--py-files") == str(tmp_path / "headrace.zip")
    assert command[-2].endswith("submit_entry.py")
    assert load_definition(tmp_path / "orders.toml") == definition(SHARED)
    assert command[-1] == str(tmp_path / "orders.toml")
    assert "${SECRET}" in (tmp_path / "orders.toml").read_text()
    assert made.environment == {"JAVA_HOME": "/java", "PYSPARK_PYTHON": sys.executable}


def test_settings_of_spark_are_those_of_the_file_and_of_the_command(tmp_path: Path) -> None:
    text = SHARED + '[spark]\n"a.b" = "1"\nc = 2\n"spark.submit.pyFiles" = "x.py"\n'
    made = make_submission(definition(text), tmp_path, master="yarn", spark_settings={"a.b": "3"})
    shown = " ".join(made.command)
    assert "--conf a.b=3 --conf c=2 /" in shown
    # As a setting it would hide the package from the executors.
    assert option(made.command, "--py-files").endswith("headrace.zip,x.py")
    assert load_definition(tmp_path / "orders.toml").spark == {"a.b": "3", "c": "2"}


def test_files_of_the_transform_go_along(tmp_path: Path) -> None:
    own = tmp_path / "shop.py"
    text = SQL.replace('name = "big"', 'name = "big"\ncheckpoint = "/c"')
    text = text.replace("[sink]", f'files = ["{own}"]\n[sink]')
    with pytest.raises(InvalidDefinition, match=r"there is no file .*shop\.py"):
        make_submission(definition(text), tmp_path, master="yarn")
    own.write_text("")
    made = make_submission(definition(text), tmp_path, master="yarn")
    assert option(made.command, "--py-files").endswith(f"headrace.zip,{own}")


def test_python_of_the_cluster_is_the_users_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
    made = make_submission(definition(SHARED), tmp_path, master="yarn")
    assert made.environment["PYSPARK_PYTHON"] == "/opt/python"


def test_driver_on_the_cluster_finds_the_definition_by_its_name(tmp_path: Path) -> None:
    made = make_submission(definition(SHARED), tmp_path, master="yarn", deploy_mode="cluster")
    assert made.command[-1] == "orders.toml"


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        (PARQUET, "client", "job.checkpoint: is missing"),
        (SHARED, "somewhere", "expected client or cluster"),
        (SHARED.replace("/shared/c", "c"), "cluster", "expected an absolute path or a URL"),
    ],
)
def test_jobs_that_cannot_be_submitted(tmp_path: Path, text: str, mode: str, message: str) -> None:
    with pytest.raises(InvalidDefinition, match=message):
        make_submission(definition(text), tmp_path, master="yarn", deploy_mode=mode)


def test_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailure, match="choose another with --files"):
        make_submission(definition(SHARED), tmp_path / "file", master="yarn")


def test_program_comes_with_pyspark_unless_spark_is_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.delenv("SPARK_HOME")
    assert spark_submit_program().name == "spark-submit"

"""``spark-submit``: the command, the files, and what is refused."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from headrace.pipeline.jobs import submit
from headrace.pipeline.jobs.definition import load_definition
from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.submit import make_submission, spark_submit_program, write_package

from .samples import PARQUET, definition

if TYPE_CHECKING:
    from pathlib import Path

SHARED = PARQUET.replace('"orders"', '"orders"\ncheckpoint = "/shared/c"', 1)


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submit, "_environment", lambda: {"JAVA_HOME": "/java"})
    monkeypatch.setenv("SPARK_HOME", "/spark")


def test_command_has_all_that_the_job_needs(tmp_path: Path) -> None:
    made = make_submission(
        definition(SHARED), tmp_path, master="spark://head:7077", spark_settings={"a.b": "1"}
    )
    command = made.command
    assert command[:3] == ["/spark/bin/spark-submit", "--master", "spark://head:7077"]
    assert command[command.index("--conf") + 1] == "a.b=1"
    assert command[-2].endswith("submit_entry.py")
    assert load_definition(tmp_path / "orders.toml") == definition(SHARED)
    assert command[-1] == str(tmp_path / "orders.toml")
    assert "${SECRET}" in (tmp_path / "orders.toml").read_text()


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


def test_package_can_be_imported_from_its_file(tmp_path: Path) -> None:
    path = write_package(tmp_path / "headrace.zip")
    assert path.read_bytes() == write_package(tmp_path / "again.zip").read_bytes()
    assert "headrace/pipeline/jobs/run.py" in zipfile.ZipFile(path).namelist()
    program = "import headrace.pipeline.jobs.definition as d; print(d.__file__)"
    out = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(path)!r}); {program}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(path) in out.stdout


def test_program_comes_with_pyspark_unless_spark_is_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.delenv("SPARK_HOME")
    assert spark_submit_program().name == "spark-submit"

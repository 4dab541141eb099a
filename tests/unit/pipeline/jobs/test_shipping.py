"""What executors get: the package where they are elsewhere, and the files of the transform."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from headrace.pipeline.jobs import shipping
from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.shipping import send_code, write_package

if TYPE_CHECKING:
    from pathlib import Path


def session(master: str) -> tuple[Any, list[str]]:
    sent: list[str] = []
    context = SimpleNamespace(master=master, addPyFile=sent.append)
    return SimpleNamespace(sparkContext=context), sent


def test_package_goes_to_other_machines_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered: list[int] = []
    monkeypatch.setattr(shipping, "register", lambda spark: registered.append(len(sent)))
    own = tmp_path / "shop.py"
    own.write_text("")
    files = [str(own), "s3://code/more.zip"]
    spark, sent = session("local[2,4]")
    send_code(spark, files, tmp_path)
    assert sent == files
    spark, sent = session("spark://head:7077")
    send_code(spark, files, tmp_path / "state")
    assert sent == [*files, str(tmp_path / "state" / "headrace.zip")]
    assert registered == [3]  # once, behind the package


def test_file_that_is_missing_is_told_before_the_work(tmp_path: Path) -> None:
    spark, sent = session("local")
    with pytest.raises(InvalidDefinition, match=r"transform.files: there is no file .*shop.py"):
        send_code(spark, [str(tmp_path / "shop.py")], tmp_path)
    assert sent == []


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

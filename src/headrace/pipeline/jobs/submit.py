"""The same job on a cluster, by ``spark-submit``: the command, and the files that go with it.

The driver runs ``submit_entry.py`` with the definition beside it; executors get this package as a
zip file. What they cannot get that way must be installed on every machine: the packages of
``headrace[spark]``. Variables of the definition (``${NAME}``) are filled in where the driver runs.
"""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import PackageNotInstalled
from headrace.pipeline.jobs import submit_entry
from headrace.pipeline.jobs.checkpoint import maybe_local_path
from headrace.pipeline.jobs.definition import JobDefinition, definition_text
from headrace.pipeline.jobs.errors import InvalidDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE_FILE = "headrace.zip"
_ZIP_TIME = (2020, 1, 1, 0, 0, 0)
"""The same sources make the same file."""


class Submission(NamedTuple):
    """A command to run, with what it needs in the environment."""

    command: list[str]
    environment: dict[str, str]


def make_submission(
    definition: JobDefinition,
    directory: Path,
    *,
    master: str,
    deploy_mode: str = "client",
    spark_settings: Mapping[str, str] | None = None,
) -> Submission:
    """Write the files into ``directory`` and put the command together."""
    _raise_if_not_shared(definition, master, deploy_mode)
    directory.mkdir(parents=True, exist_ok=True)
    definition_path = directory / f"{definition.name}.toml"
    definition_path.write_text(definition_text(definition))
    package = write_package(directory / PACKAGE_FILE)
    settings = {**definition.spark, **(spark_settings or {})}
    command = [
        str(spark_submit_program()),
        *("--master", master),
        *("--deploy-mode", deploy_mode),
        *("--name", f"headrace {definition.name}"),
        *("--py-files", str(package)),
        *("--files", str(definition_path)),
    ]
    for name, value in sorted(settings.items()):
        command += ["--conf", f"{name}={value}"]
    # In cluster mode the file lies in the driver's working directory, under its name alone.
    place = definition_path.name if deploy_mode == "cluster" else str(definition_path)
    return Submission([*command, str(submit_entry.__file__), place], _environment())


def write_package(path: Path) -> Path:
    """This package as a zip file that Python can import from."""
    root = Path(submit_entry.__file__).parents[2]
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(root.rglob("*.py")):
            name = (Path(root.name) / file.relative_to(root)).as_posix()
            archive.writestr(zipfile.ZipInfo(name, _ZIP_TIME), file.read_bytes())
    os.replace(unfinished, path)
    return path


def spark_submit_program() -> Path:
    """The one of ``SPARK_HOME``, else the one that came with pyspark."""
    home = os.environ.get("SPARK_HOME")
    if home:
        return Path(home) / "bin" / "spark-submit"
    try:
        import pyspark
    except ImportError as error:
        raise PackageNotInstalled("spark-submit", "pyspark", "spark") from error
    return Path(pyspark.__file__).parent / "bin" / "spark-submit"


def _environment() -> dict[str, str]:
    from headrace.pipeline.java import find_java

    return {"JAVA_HOME": find_java().home, "PYSPARK_PYTHON": sys.executable}


def _raise_if_not_shared(definition: JobDefinition, master: str, deploy_mode: str) -> None:
    """A job on several machines needs a checkpoint that the next driver finds as well."""
    if deploy_mode not in ("client", "cluster"):
        raise InvalidDefinition(f"deploy mode {deploy_mode!r}: expected client or cluster")
    if definition.checkpoint is None:
        raise InvalidDefinition(
            "job.checkpoint: is missing; a submitted job needs a directory that every driver can "
            "reach, since the state directory stays on this machine"
        )
    if master.startswith("local") or deploy_mode == "client":
        return
    path = maybe_local_path(definition.checkpoint)
    if path is not None and not path.is_absolute():
        raise InvalidDefinition("job.checkpoint: expected an absolute path or a URL")

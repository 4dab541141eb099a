"""The same job on a cluster, by ``spark-submit``: the command, and the files that go with it.

The driver runs ``submit_entry.py`` with the definition beside it; executors get this package and
the transform's files (see ``shipping``). Variables of the definition (``${NAME}``) are filled in
where the driver runs.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import PackageNotInstalled, StorageFailure
from headrace.pipeline.jobs import submit_entry
from headrace.pipeline.jobs.checkpoint import maybe_local_path
from headrace.pipeline.jobs.definition import JobDefinition, definition_text
from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.shipping import PACKAGE_FILE, raise_if_missing, write_package

if TYPE_CHECKING:
    from collections.abc import Mapping

DEPLOY_MODES = ("client", "cluster")
_PYTHON_FILES_SETTING = "spark.submit.pyFiles"
_PYTHON_VARIABLE = "PYSPARK_PYTHON"


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
    _raise_if_not_shared(definition, deploy_mode)
    files = definition.transform.files
    raise_if_missing(files)
    settings = {**definition.spark, **(spark_settings or {})}
    # The option replaces the setting of the same meaning, so they are joined here.
    theirs = [each for each in settings.pop(_PYTHON_FILES_SETTING, "").split(",") if each]
    definition_path = directory / f"{definition.name}.toml"
    package = directory / PACKAGE_FILE
    try:
        directory.mkdir(parents=True, exist_ok=True)
        definition_path.write_text(definition_text(replace(definition, spark=settings)))
        write_package(package)
    except OSError as error:
        raise StorageFailure(
            f"cannot write to {directory}: {error.strerror}; choose another with --files"
        ) from error
    command = [
        str(spark_submit_program()),
        *("--master", master),
        *("--deploy-mode", deploy_mode),
        *("--name", f"headrace {definition.name}"),
        *("--py-files", ",".join([str(package), *files, *theirs])),
        *("--files", str(definition_path)),
    ]
    for name, value in sorted(settings.items()):
        command += ["--conf", f"{name}={value}"]
    # In cluster mode the file lies in the driver's working directory, under its name alone.
    place = definition_path.name if deploy_mode == "cluster" else str(definition_path)
    return Submission([*command, str(submit_entry.__file__), place], _environment())


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
    """Which Java, and which Python on every machine: this one's, unless the user has said it."""
    from headrace.pipeline.java import find_java

    python = os.environ.get(_PYTHON_VARIABLE, sys.executable)
    return {"JAVA_HOME": find_java().home, _PYTHON_VARIABLE: python}


def _raise_if_not_shared(definition: JobDefinition, deploy_mode: str) -> None:
    """A job on several machines needs a checkpoint that the next driver finds as well."""
    if deploy_mode not in DEPLOY_MODES:
        raise InvalidDefinition(
            f"deploy mode {deploy_mode!r}: expected {' or '.join(DEPLOY_MODES)}"
        )
    if definition.checkpoint is None:
        raise InvalidDefinition(
            "job.checkpoint: is missing; a submitted job needs a directory that every driver can "
            "reach, since the state directory stays on this machine"
        )
    if deploy_mode == "client":
        return
    path = maybe_local_path(definition.checkpoint)
    if path is not None and not path.is_absolute():
        raise InvalidDefinition("job.checkpoint: expected an absolute path or a URL")

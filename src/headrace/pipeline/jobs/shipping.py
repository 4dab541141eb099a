"""What machines that work for a job need of ours: this package, and the files of its transform.

Spark hands them to every executor, in front of what is installed there: driver and tasks are of one
version. The packages of ``headrace[spark]`` cannot be handed over; they must be installed there.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.pipeline import register
from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.local_paths import is_url

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGE_FILE = "headrace.zip"
_PACKAGE = Path(__file__).parents[2]
_ZIP_TIME = (2020, 1, 1, 0, 0, 0)
"""The same sources make the same file."""


def send_code(spark: Any, files: Sequence[str], directory: Path) -> None:
    """Hand over ``files`` and, where tasks run in other places, this package.

    ``directory`` keeps the package's file for as long as the session lives.
    """
    raise_if_missing(files)
    context = spark.sparkContext
    for file in files:
        context.addPyFile(file)
    if not context.master.startswith("local"):
        context.addPyFile(str(write_package(directory / PACKAGE_FILE)))
        register(spark)  # again: its tasks get the files that are known when it is registered


def raise_if_missing(files: Sequence[str]) -> None:
    for file in files:
        if not is_url(file) and not Path(file).is_file():
            raise InvalidDefinition(f"transform.files: there is no file {file}")


def write_package(path: Path) -> Path:
    """This package as a zip file that Python can import from."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(_PACKAGE.rglob("*.py")):
            name = (Path(_PACKAGE.name) / file.relative_to(_PACKAGE)).as_posix()
            archive.writestr(zipfile.ZipInfo(name, _ZIP_TIME), file.read_bytes())
    os.replace(unfinished, path)
    return path

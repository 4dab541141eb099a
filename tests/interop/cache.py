"""The cache directory outside the tree: Maven jars, compiled drivers, Go and Node builds.

`HEADRACE_TEST_CACHE` overrides it. Each entry is named after a hash of what it is built from and is
built under a file lock, so parallel runs share one build and a changed source gets a new entry.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

BUILD_TIMEOUT_S = 600.0
HERE = Path(__file__).parent


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    directory = Path(os.environ.get("HEADRACE_TEST_CACHE") or Path(base) / "headrace")
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run_tool(command: Sequence[str], directory: Path, environment: dict[str, str]) -> None:
    """Run a build tool quietly; its output is shown only if it fails."""
    result = subprocess.run(
        command,
        cwd=directory,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BUILD_TIMEOUT_S,
    )
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{result.stdout}")


def cached_build(name: str, sources: Sequence[Path], build: Callable[[Path], None]) -> Path:
    """The directory that `build` filled, built at most once for the same sources."""
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    target = cache_directory() / f"{name}-{digest.hexdigest()[:12]}"
    with _locked(target.with_suffix(".lock")):
        if not target.exists():
            unfinished = target.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            build(unfinished)
            unfinished.rename(target)
    return target


def maven_libraries(name: str, pom: Path) -> Path:
    """A directory with the runtime jars of a POM and all they depend on."""

    def copy_dependencies(target: Path) -> None:
        shutil.copy(pom, target / "pom.xml")
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
        options = [f"-DoutputDirectory={target / 'libs'}"]
        run_tool(["mvn", "-q", "-B", *goal, *options], target, {})

    return cached_build(name, [pom], copy_dependencies) / "libs"

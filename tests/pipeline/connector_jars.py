"""Spark's own Kafka connector, by Maven into the tests' cache."""

from __future__ import annotations

import shutil
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tests.interop.cache import cached_build, run_tool

POM = Path(__file__).parent / "kafka-connector-pom.xml"
REASON_CHARACTERS_MAX = 400


class Connector(NamedTuple):
    """Its jars, or why there are none."""

    jars: tuple[Path, ...] = ()
    missing: str = ""


@lru_cache(maxsize=1)
def connector() -> Connector:
    """Other tests of Spark run without it, so this does not fail."""
    if shutil.which("mvn") is None:
        return Connector(missing="mvn is not on this machine: no Kafka connector of Spark")
    try:
        return Connector(jars=tuple(sorted(_built().glob("*.jar"))))
    except RuntimeError as error:
        reason = str(error)[-REASON_CHARACTERS_MAX:]
        return Connector(missing=f"Maven cannot fetch Spark's Kafka connector: {reason}")


def _built() -> Path:
    def copy(target: Path) -> None:
        goal = ["dependency:copy", f"-DoutputDirectory={target}"]
        run_tool(["mvn", "-q", "-B", "-f", str(POM), *goal], target, {})

    return cached_build("spark-kafka-connector", [POM], copy)

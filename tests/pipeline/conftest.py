"""One Spark for the whole run, and brokers to read from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.testing import Broker
from tests.interop.deadline import wait_until

from .connector_jars import connector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

MASTER = "local[2,4]"
WAIT_SECONDS = 60.0
# The first test of a run pays for the start of Spark, maybe on a machine with other things to do.
TEST_SECONDS_MAX = 600
# Records of the tests have the timestamps that suit them, and may be older than any retention.
BROKER_SETTINGS = {"log.retention.ms": "-1"}
SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    # A test has few rows and ends soon: what C1 compiles is good enough, and starts sooner.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        if not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TEST_SECONDS_MAX))
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Without time zone surprises, and with Spark's Kafka connector where Maven can fetch it."""
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'headrace[spark]'")
    from headrace.pipeline.session import spark_session

    settings = {
        **SETTINGS,
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
    }
    if connector().jars:
        settings["spark.jars"] = ",".join(str(jar) for jar in connector().jars)
    session = spark_session("headrace-tests", MASTER, settings)
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """Shared: each test makes topics of its own."""
    with Broker(BROKER_SETTINGS) as running:
        yield running


@pytest.fixture
def own_broker() -> Iterator[Broker]:
    """For tests that change more than topics."""
    with Broker(BROKER_SETTINGS) as running:
        yield running


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Waits until a condition holds, and fails if it does not in good time."""

    def wait(condition: Callable[[], bool]) -> None:
        wait_until(condition, "the query", WAIT_SECONDS)

    return wait

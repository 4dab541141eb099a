"""Dispatch: each kind of job reaches its engine with the right settings. No Spark."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from headrace.pipeline.errors import ForeignCheckpoint
from headrace.pipeline.jobs import run as run_module
from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.fault import Fault, fault_of
from headrace.pipeline.jobs.progress import JobProgress
from headrace.pipeline.jobs.query import (
    attend,
    checkpoint_id,
    load_function,
    topic_options,
    transformed,
)
from headrace.pipeline.jobs.query import mistakes_named as named
from headrace.pipeline.jobs.run import JobContext, run_job

from .samples import PARQUET, SQL, definition

if TYPE_CHECKING:
    from pathlib import Path

PROGRESS = SimpleNamespace(
    rows=3, parked_rows=0, files=1, size_bytes=9, positions={"orders": {0: 3}}, ends={}
)


class Engine(ModuleType):
    """In place of the Parquet engine."""

    def __init__(self) -> None:
        super().__init__("headrace.pipeline.parquet")
        self.calls: list[tuple[str, Any]] = []

    def ParquetSettings(self, **values: Any) -> Any:
        return SimpleNamespace(**values)

    def run_parquet(self, spark: Any, settings: Any, *, on_progress: Any) -> None:
        self.calls.append(("run", settings))
        on_progress(PROGRESS)

    def stream_parquet(
        self, spark: Any, settings: Any, *, on_progress: Any, should_stop: Any
    ) -> None:
        self.calls.append(("stream", settings))
        on_progress(PROGRESS)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    import headrace.pipeline

    found = Engine()
    monkeypatch.setitem(sys.modules, "headrace.pipeline.parquet", found)
    monkeypatch.setattr(headrace.pipeline, "parquet", found, raising=False)
    monkeypatch.setattr(run_module, "_cluster_id", lambda definition: "cluster-1")
    return found


def context(tmp_path: Path, text: str, told: list[JobProgress]) -> JobContext:
    return JobContext("spark", definition(text), str(tmp_path / "c"), told.append, lambda: False)


def test_parquet_job_that_follows_streams(tmp_path: Path, engine: Engine) -> None:
    told: list[JobProgress] = []
    run_job(context(tmp_path, PARQUET, told))
    ((verb, settings),) = engine.calls
    assert (verb, settings.job, settings.table, settings.target) == (
        "stream",
        "orders",
        "delta",
        "/lake/orders",
    )
    assert settings.decoding == {"format": "json"}
    assert (settings.trigger_seconds, settings.partition_by) == (2.0, "hour")
    assert told == [JobProgress(3, 0, 1, 9, {"orders": {"0": 3}}, 0)]


def test_parquet_job_of_what_is_there_runs_once(tmp_path: Path, engine: Engine) -> None:
    run_job(context(tmp_path, PARQUET.replace("2 seconds", "available-now"), []))
    assert [verb for verb, _ in engine.calls] == ["run"]


def test_job_of_what_is_there_can_be_stopped_between_batches(
    tmp_path: Path, engine: Engine
) -> None:
    told: list[JobProgress] = []
    made = context(tmp_path, PARQUET.replace("2 seconds", "available-now"), told)
    run_job(made._replace(should_stop=lambda: True))
    assert len(told) == 1


def test_job_shows_its_lag_if_it_has_a_group(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Any] = []

    class Group:
        def __init__(self, group: str, settings: dict[str, str]) -> None:
            written.append((group, settings["bootstrap.servers"]))

        def write(self, positions: Any) -> None:
            written.append(positions)

    monkeypatch.setattr(run_module, "LagGroup", Group)
    text = PARQUET.replace('"orders"', '"orders"\ngroup = "shown"', 1)
    run_job(context(tmp_path, text, []))
    assert written == [("shown", "broker:9092"), {"orders": {"0": 3}}]


def test_checkpoint_of_another_job_is_refused_before_the_work(
    tmp_path: Path, engine: Engine
) -> None:
    run_job(context(tmp_path, PARQUET, []))
    with pytest.raises(ForeignCheckpoint):
        run_job(context(tmp_path, PARQUET.replace("/lake/orders", "/x"), []))
    assert len(engine.calls) == 1


class Query:
    """A streaming query that has ended after some looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks
        self.stopped = 0
        self.recentProgress: list[dict[str, Any]] = []

    def awaitTermination(self, seconds: float) -> bool:
        self.looks -= 1
        batch = len(self.recentProgress)
        self.recentProgress.append({"batchId": batch, "numInputRows": batch + 1, "sources": []})
        return self.looks <= 0

    def stop(self) -> None:
        self.stopped += 1


def test_each_batch_of_a_query_is_told_once(tmp_path: Path) -> None:
    told: list[JobProgress] = []
    query = Query(looks=3)
    attend(context(tmp_path, SQL, told), query)
    assert [each.rows for each in told] == [1, 2, 3]
    assert query.stopped == 1


def test_query_is_stopped_when_asked(tmp_path: Path) -> None:
    query = Query(looks=1_000)
    attend(context(tmp_path, SQL, [])._replace(should_stop=lambda: True), query)
    assert (query.looks, query.stopped) == (999, 1)


def test_sink_logs_in_as_the_source_does_at_the_same_broker() -> None:
    text = SQL + '[source.options]\n"kafka.sasl.username" = "ada"\n'
    assert topic_options(definition(text)) == {
        "kafka.bootstrap.servers": "127.0.0.1:9092",
        "kafka.sasl.username": "ada",
        "topic": "big-orders",
    }
    other = text.replace('topic = "big-orders"', 'topic = "big-orders"\nbootstrap = "b:1"')
    assert topic_options(definition(other)) == {
        "kafka.bootstrap.servers": "b:1",
        "topic": "big-orders",
    }


def test_sql_sees_the_records_as_source() -> None:
    views: list[str] = []
    session = SimpleNamespace(sql=lambda text: f"result of {text}")
    records = SimpleNamespace(createOrReplaceTempView=views.append, sparkSession=session)
    assert transformed(records, definition(SQL)) == "result of SELECT key, value FROM source"
    assert views == ["source"]


def test_python_transform_is_called_with_the_records() -> None:
    text = SQL.replace('sql = "SELECT key, value FROM source"', 'python = "copy:copy"')
    frame = SimpleNamespace(writeStream="writer")
    assert transformed(frame, definition(text)).writeStream == "writer"
    with pytest.raises(InvalidDefinition, match="copy:copy returned int, not a data frame"):
        transformed(5, definition(text))


def test_query_that_spark_does_not_understand_is_not_tried_again() -> None:
    errors = pytest.importorskip("pyspark.errors")
    with pytest.raises(InvalidDefinition, match="Spark refuses the query: no such column"), named():
        raise errors.AnalysisException("no such column\nfurther words")
    ours = "x\nheadrace.pipeline.errors.BrokerUnreachable: no answer"
    with pytest.raises(errors.AnalysisException) as raised, named():
        raise errors.AnalysisException(ours)
    assert fault_of(raised.value) == Fault("no answer", True)


def test_checkpoint_is_called_as_spark_calls_it() -> None:
    read: list[str] = []

    def text(path: str) -> Any:
        read.append(path)
        return SimpleNamespace(first=lambda: ('{"id": "abc"}',))

    spark = SimpleNamespace(read=SimpleNamespace(text=text))
    assert checkpoint_id(spark, "/c") == "abc"
    assert read == ["/c/metadata"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("no.such:f", "cannot be imported"), ("os:nothing", "has no nothing"), ("os:sep", "is no fu")],
)
def test_functions_that_are_none(name: str, message: str) -> None:
    with pytest.raises(InvalidDefinition, match=message):
        load_function(name)

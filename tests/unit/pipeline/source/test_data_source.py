"""What Spark calls, without Spark: the broker is a double and so is the reading."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import LongType, StringType, StructField, StructType

from headrace.pipeline.errors import ForeignCheckpoint
from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.source import data_source
from headrace.pipeline.source.data_source import HeadraceDataSource, RangePartition
from headrace.pipeline.source.errors import InvalidSourceOption, UnsuitableColumns
from headrace.pipeline.source.rows import SCHEMA, SCHEMA_WITH_HEADERS
from headrace.records.columns import Columns

from .fake_view import BROKER, FakeView

OFFSETS = StructType([StructField("offset", LongType())])


@pytest.fixture
def view(monkeypatch):
    view = FakeView({("t", 0): (0, 30), ("t", 1): (0, 10)})
    monkeypatch.setattr(data_source, "BrokerView", lambda settings: view)
    return view


def source(**given):
    return HeadraceDataSource({**BROKER, "subscribe": "t", **given})


def stream_reader(**given):
    return source(startingOffsets="earliest", **given).streamReader(OFFSETS)


def test_its_name_and_columns():
    assert HeadraceDataSource.name() == "headrace"
    assert source().schema() == SCHEMA
    assert source(includeHeaders="true").schema() == SCHEMA_WITH_HEADERS


def test_filters_are_never_pushed_down():
    reader = source().reader(SCHEMA)
    assert type(reader).pushFilters is DataSourceReader.pushFilters


def test_a_batch_is_planned_as_one_task_per_partition(view):
    partitions = source().reader(OFFSETS).partitions()
    assert [partition.part for partition in partitions] == [
        OffsetRange("t", 0, 0, 30),
        OffsetRange("t", 1, 0, 10),
    ]
    assert {partition.topic_id for partition in partitions} == {"00" * 15 + "01"}
    assert view.is_closed


def test_the_partition_that_spark_makes_up_is_empty():
    assert list(source().reader(OFFSETS).read(InputPartition(None))) == []


def test_a_task_reads_its_range_with_the_settings_of_the_options(monkeypatch):
    asked = []

    def read_range(part, settings):
        asked.append((part, settings))
        yield Columns(pa.record_batch({"offset": pa.array([7], pa.int64())}), [], 8)

    monkeypatch.setattr(data_source, "read_range", read_range)
    given = {"kafka.isolation.level": "read_committed", "headrace.read.path": "fetch"}
    reader = pickle.loads(pickle.dumps(source(**given).reader(OFFSETS)))
    partition = pickle.loads(pickle.dumps(RangePartition(OffsetRange("t", 0, 7, 8), "0a")))
    (batch,) = reader.read(partition)
    assert batch.to_pylist() == [{"offset": 7}]
    ((part, settings),) = asked
    assert part == OffsetRange("t", 0, 7, 8)
    assert (settings.path, settings.is_committed) == ("fetch", True)
    assert settings.columns == ("offset",)
    assert settings.topic_ids == {"t": "0a"}
    assert settings.kafka["bootstrap.servers"] == "localhost:9092"


def test_columns_that_are_not_there_are_refused_before_anything_is_planned():
    schema = StructType([StructField("colour", StringType())])
    with pytest.raises(UnsuitableColumns, match="colour string"):
        source().reader(schema)
    with pytest.raises(UnsuitableColumns, match="colour string"):
        source().streamReader(schema)


def test_wrong_options_are_refused_before_anything_is_planned():
    with pytest.raises(InvalidSourceOption):
        source(minPartitions="x").reader(OFFSETS)
    with pytest.raises(InvalidSourceOption):
        source(endingOffsets="latest").streamReader(OFFSETS)


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({}, ReadAllAvailable()),
        ({"maxOffsetsPerTrigger": "9"}, ReadMaxRows(9)),
        ({"minOffsetsPerTrigger": "4"}, ReadMinRows(4)),
        ({"minOffsetsPerTrigger": "4", "maxOffsetsPerTrigger": "9"}, ReadMaxRows(9)),
    ],
)
def test_the_limit_that_spark_is_told(given, limit):
    assert stream_reader(**given).getDefaultReadLimit() == limit


def test_a_stream_from_its_first_offset_to_its_last(view):
    reader = stream_reader(maxOffsetsPerTrigger="20")
    limit = reader.getDefaultReadLimit()
    start = reader.initialOffset()
    assert reader.reportLatestOffset() is None
    end = reader.latestOffset(start, limit)
    assert end["t"] == {"0": 15, "1": 5}
    assert reader.reportLatestOffset()["t"] == {"0": 30, "1": 10}
    assert [(each.part, each.topic_id) for each in reader.partitions(start, end)] == [
        (OffsetRange("t", 0, 0, 15), end["@topics"]["t"]),
        (OffsetRange("t", 1, 0, 5), end["@topics"]["t"]),
    ]
    assert reader.latestOffset(start, ReadAllAvailable())["t"] == {"0": 30, "1": 10}
    reader.commit(end)
    reader.stop()
    assert view.is_closed


def test_available_now_stops_at_what_is_there(view):
    reader = stream_reader()
    assert isinstance(reader, SupportsTriggerAvailableNow)
    reader.prepareForTriggerAvailableNow()
    start = reader.initialOffset()
    view.logs = dict.fromkeys(view.logs, (0, 1_000))
    end = reader.latestOffset(start, ReadAllAvailable())
    assert end["t"] == {"0": 30, "1": 10}
    assert reader.latestOffset(end, ReadAllAvailable()) == end


@pytest.mark.usefixtures("view")
def test_a_reader_leaves_its_connection_behind_when_it_travels():
    reader = stream_reader()
    reader.initialOffset()
    copy = pickle.loads(pickle.dumps(reader))
    copy.stop()  # has nothing to close
    assert copy.initialOffset() == reader.initialOffset()


@pytest.mark.usefixtures("view")
def test_the_checkpoint_of_another_kind_of_source_is_refused():
    with pytest.raises(ForeignCheckpoint):
        stream_reader().latestOffset({"logOffset": 3}, ReadAllAvailable())

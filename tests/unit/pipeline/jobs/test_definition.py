"""Definitions: what is accepted, and that a mistake names line, field and what is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.pipeline.jobs.definition import (
    FILE_BYTES_MAX,
    definition_text,
    load_definition,
    parse_definition,
)
from headrace.pipeline.jobs.errors import InvalidDefinition

from .samples import PARQUET, SQL

if TYPE_CHECKING:
    from pathlib import Path


FUNCTION = """
[job]
name = "loud"
kind = "function"
[source]
topic = "orders"
[transform]
python = "shop:loud"
files = "shop.py"
[sink]
format = "headrace"
topic = "loud-orders"
"""


def refused(text: str, origin: str = "") -> str:
    with pytest.raises(InvalidDefinition) as raised:
        parse_definition(text, origin)
    return raised.value.message


def test_parquet_job_is_the_default_kind_without_a_transform() -> None:
    job = parse_definition(PARQUET)
    assert (job.name, job.kind, job.follows) == ("orders", "parquet", True)
    assert job.sink.trigger_seconds == 2.0
    assert job.sink.decoding_options() == {"format": "json"}


def test_reader_options_are_those_of_the_source() -> None:
    assert parse_definition(PARQUET).source.reader_options() == {
        "kafka.bootstrap.servers": "broker:9092",
        "kafka.isolation.level": "read_committed",
        "subscribe": "orders",
        "startingOffsets": "earliest",
        "kafka.sasl.password": "${SECRET}",
        "maxOffsetsPerTrigger": "1000",
    }


def test_client_settings_are_the_options_of_kafka_alone() -> None:
    assert parse_definition(PARQUET).source.client_settings() == {
        "bootstrap.servers": "broker:9092",
        "sasl.password": "${SECRET}",
    }


def test_sql_job_reads_a_pattern_and_ends_by_itself() -> None:
    job = parse_definition(SQL)
    assert (job.kind, job.follows, job.sink.target) == ("sql", False, "big-orders")
    assert job.source.reader_options()["subscribePattern"] == "orders-.*"


@pytest.mark.parametrize("text", [PARQUET, SQL])
def test_definition_survives_being_written(text: str) -> None:
    job = parse_definition(text)
    assert parse_definition(definition_text(job)) == job


def test_environment_is_filled_in_late() -> None:
    job = parse_definition(PARQUET)
    filled = job.with_environment({"SECRET": "s3cret"})
    assert filled.source.options["kafka.sasl.password"] == "s3cret"
    assert "s3cret" not in repr(filled)
    with pytest.raises(InvalidDefinition, match=r"source\.options.*SECRET is not set"):
        job.with_environment({})


@pytest.mark.parametrize(
    ("starting", "options"),
    [
        ("latest", {"startingOffsets": "latest"}),
        ('{"orders": {"0": 23}}', {"startingOffsets": '{"orders": {"0": 23}}'}),
        ("2026-01-31T12:00:00Z", {"startingTimestamp": "1769860800000"}),
    ],
)
def test_starting_points(starting: str, options: dict[str, str]) -> None:
    text = PARQUET.replace('topic = "orders"', f"topic = 'orders'\nstarting = '{starting}'", 1)
    found = parse_definition(text).source.reader_options()
    assert options.items() <= found.items()


@pytest.mark.parametrize(
    "starting", ["yesterday", "2026-01-31T12:00:00", '{"orders": 5}', '{"orders": {"x": 5}}', "{"]
)
def test_starting_points_that_are_none(starting: str) -> None:
    text = PARQUET.replace('topic = "orders"', f"topic = 'orders'\nstarting = '{starting}'", 1)
    assert "source.starting: " in refused(text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('topic = "orders"', "", "source.topic: give one of topic and pattern"),
        ('topic = "orders"', "topic = 5", "source.topic: expected a list of texts, or one text"),
        ('topic = "orders"', "topic = []", "source.topic: is empty"),
        ('topic = "orders"', "pattern = '('", "source.pattern: no regular expression"),
        ('topic = "orders"', 'topics = "x"', "no such field; did you mean topic?"),
        ('format = "delta"', "", "sink.format: is missing"),
        ('format = "delta"', 'format = "csv"', "expected one of plain, delta, iceberg, headrace"),
        ('format = "delta"', 'format = "kafka"', "a parquet job writes plain, delta, iceberg"),
        ('path = "/lake/orders"', "", "sink.path: is missing: format delta needs it"),
        ('schema = "json"', 'schema = "xml"', "expected one of raw, json, json-schema:FILE"),
        ('schema = "json"', 'topic = "t"', "sink.topic: means nothing to format delta"),
        ('schema = "json"', 'compact = "yes"', "sink.compact: expected true or false"),
        ('"2 seconds"', '"2 parsecs"', "sink.trigger: '2 parsecs': expected available-now"),
        ('name = "orders"', 'name = "../x"', "job.name: '../x': expected up to 200 letters"),
        ('name = "orders"', 'name = "o"\nkind = "sql"', "needs one of sql and python"),
        ('name = "orders"', 'name = "o"\nkind = "function"', "a function job needs it"),
        ("[sink]", "[sinks]", "there is no such table; did you mean sink?"),
        ('schema = "json"', 'bootstrap = "b"', "sink.bootstrap: means nothing to format delta"),
        ('"2 seconds"', '"1 ms"', "sink.trigger: '1 ms': expected 0.1 to 86400 seconds"),
    ],
)
def test_mistakes_name_the_field(old: str, new: str, message: str) -> None:
    assert message in refused(PARQUET.replace(old, new, 1))


def test_mistakes_name_file_and_line() -> None:
    text = PARQUET.replace('"delta"', '"csv"')
    line = text.splitlines().index('format = "csv"') + 1
    assert refused(text, "job.toml").startswith(f"job.toml, line {line}: sink.format: 'csv'")


def test_text_that_is_not_toml_is_refused_with_its_line() -> None:
    assert "job.toml: not TOML" in refused("[job\n", "job.toml")


def test_parquet_job_has_no_transform() -> None:
    text = PARQUET.replace('"orders"', '"orders"\nkind = "parquet"', 1)
    assert 'use kind = "sql"' in refused(text + '[transform]\nsql = "SELECT 1"\n')


def test_python_transform_is_a_module_and_a_function() -> None:
    text = SQL.replace('sql = "SELECT key, value FROM source"', 'python = "no function"')
    assert "expected package.module:function" in refused(text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "[sink]",
            '[sink]\npartition_by = "date"',
            "sink.partition_by: means nothing to a sql job",
        ),
        ("[sink]", '[sink]\nschema = "json"', "sink.schema: means nothing to a sql job"),
        ("[sink]", "[sink.decoding]\na = 1\n[sink]", "sink.decoding: means nothing to a sql job"),
        ("[sink]", 'files = "shop.jar"\n[sink]', "transform.files: shop.jar: expected a file of"),
    ],
)
def test_fields_without_an_effect_are_refused(old: str, new: str, message: str) -> None:
    assert message in refused(SQL.replace(old, new, 1))


def test_function_job_writes_where_it_reads() -> None:
    assert parse_definition(FUNCTION).transform.files == ("shop.py",)
    other = FUNCTION + 'bootstrap = "elsewhere:9092"\n'
    assert "writes to the broker that it reads from" in refused(other)


def test_paths_are_meant_from_where_the_file_is(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_text(FUNCTION)
    assert load_definition(path).transform.files == (str(tmp_path / "shop.py"),)
    relative = PARQUET.replace("/lake/orders", "lake").replace('"json"', '"avro:o.avsc"')
    path.write_text(relative.replace('"orders"', '"orders"\ncheckpoint = "c"', 1))
    job = load_definition(path)
    assert (job.sink.path, job.checkpoint) == (str(tmp_path / "lake"), str(tmp_path / "c"))
    assert job.sink.decoding_options()["schema_file"] == str(tmp_path / "o.avsc")
    assert load_definition(path) == parse_definition(definition_text(job))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    with pytest.raises(InvalidDefinition, match="No such file"):
        load_definition(path)
    path.write_bytes(b"\xff")
    with pytest.raises(InvalidDefinition, match="not UTF-8"):
        load_definition(path)
    path.write_bytes(b"#" * (FILE_BYTES_MAX + 1))
    with pytest.raises(InvalidDefinition, match="longer than"):
        load_definition(path)

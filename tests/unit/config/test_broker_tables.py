"""Table topics in the settings: where a table may be, and that it must be somewhere."""

from __future__ import annotations

import pytest

from headrace.config.broker import BrokerConfig
from headrace.config.broker_tables import (
    TableSettings,
    raise_if_bad_table,
    raise_if_bad_table_schema,
)
from headrace.config.topic import TopicConfig
from headrace.model.errors import InvalidConfig

ANYWHERE = TableSettings()
LAKE = TableSettings(table_locations=("/lake", "s3://bucket/lake/"))


def test_topic_has_no_table_by_default() -> None:
    assert TopicConfig().table_format == "none"
    assert TopicConfig().table_schema == "raw"


def test_table_needs_a_location() -> None:
    with pytest.raises(InvalidConfig, match=r"headrace\.table\.location must say where"):
        TopicConfig.resolve({"headrace.table.format": "delta"}, BrokerConfig.resolve())
    settings = {"headrace.table.format": "delta", "headrace.table.location": "/lake/t"}
    assert TopicConfig.resolve(settings, BrokerConfig.resolve()).table_location == "/lake/t"


@pytest.mark.parametrize("location", ["lake", "./lake", "/lake/../etc", "s3://bucket/../other"])
def test_location_is_absolute_and_stays_where_it_seems(location: str) -> None:
    with pytest.raises(InvalidConfig, match="expected an absolute path or a URL"):
        raise_if_bad_table("plain", location, ANYWHERE)


@pytest.mark.parametrize(
    "location", ["/lake", "/lake/a", "/lake//a/", "file:///lake/a", "s3://bucket/lake/a"]
)
def test_locations_that_are_allowed(location: str) -> None:
    raise_if_bad_table("iceberg", location, LAKE)


@pytest.mark.parametrize(
    "location", ["/lakes/a", "/etc", "s3://other/lake/a", "file://host/lake", "/"]
)
def test_locations_that_are_not_allowed(location: str) -> None:
    with pytest.raises(InvalidConfig, match=r"headrace\.table\.locations allow /lake, s3:"):
        raise_if_bad_table("iceberg", location, LAKE)


def test_broker_decides_where_tables_may_be() -> None:
    broker = BrokerConfig.resolve({"headrace.table.locations": "/lake"})
    settings = {"headrace.table.format": "plain", "headrace.table.location": "/etc"}
    with pytest.raises(InvalidConfig):
        TopicConfig.resolve(settings, broker)


@pytest.mark.parametrize(
    "schema", ["raw", "json", "avro:/s/o.avsc", "protobuf:/o.proto:Order", "registry:http://r"]
)
def test_schemas_that_jobs_know(schema: str) -> None:
    raise_if_bad_table_schema(schema)


@pytest.mark.parametrize("schema", ["", "xml", "avro", "avro:", "json:x", "registry:"])
def test_schemas_that_jobs_do_not_know(schema: str) -> None:
    with pytest.raises(InvalidConfig, match=r"headrace\.table\.schema=.*: expected raw, json"):
        TopicConfig.resolve({"headrace.table.schema": schema}, BrokerConfig.resolve())

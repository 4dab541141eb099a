"""Resources of configurations, and Kafka's numbers for their parts."""

from __future__ import annotations

import pytest

from headrace.config.describe import Source
from headrace.config.option import Kind
from headrace.coordination.metadata.records import ResourceType
from headrace.coordination.metadata.state import ConfigResource
from headrace.frontends.kafka.config_resources import (
    KIND_CODES,
    SOURCE_CODES,
    config_resource,
    repeated_resources,
)
from headrace.model.errors import InvalidRequest


def test_every_source_and_kind_has_a_number_of_its_own() -> None:
    assert set(SOURCE_CODES) == set(Source)
    assert set(KIND_CODES) == set(Kind)
    assert len(set(SOURCE_CODES.values())) == len(Source)
    assert len(set(KIND_CODES.values())) == len(Kind)


def test_resource_of_an_unknown_type_is_refused() -> None:
    assert config_resource(2, "orders") == ConfigResource(ResourceType.TOPIC, "orders")
    with pytest.raises(InvalidRequest, match="type 3"):
        config_resource(3, "orders")


def test_resources_that_are_named_twice_are_found() -> None:
    assert repeated_resources([(2, "a"), (2, "b"), (4, "a"), (2, "a"), (2, "a")]) == {(2, "a")}

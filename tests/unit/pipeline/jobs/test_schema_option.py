"""``--schema`` in its forms."""

from __future__ import annotations

import pytest

from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.schema_option import DEFAULT_REGISTRY, decoding_of


@pytest.mark.parametrize(
    ("schema", "options"),
    [
        ("raw", {"format": "raw"}),
        ("json-schema:/s/o.json", {"format": "json-schema", "schema_file": "/s/o.json"}),
        ("avro:o.avsc", {"format": "avro", "schema_file": "o.avsc"}),
        (
            "protobuf:o.proto:shop.Order",
            {"format": "protobuf", "schema_file": "o.proto", "message": "shop.Order"},
        ),
        ("registry:http://r:8080", {"format": "registry", "registry_url": "http://r:8080"}),
        ("registry", {"format": "registry", "registry_url": DEFAULT_REGISTRY}),
    ],
)
def test_forms(schema: str, options: dict[str, str]) -> None:
    assert decoding_of(schema) == options


@pytest.mark.parametrize(
    "schema", ["", "xml", "avro", "avro:", "protobuf:x", "json:x", "registry:x"]
)
def test_texts_that_are_none(schema: str) -> None:
    with pytest.raises(InvalidDefinition, match="expected one of raw, json"):
        decoding_of(schema)

"""Paths are meant from where the definition is."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.pipeline.jobs.local_paths import schema_seen_from, seen_from

HERE = Path("/jobs")


@pytest.mark.parametrize(
    ("place", "seen"),
    [
        ("lake/orders", "/jobs/lake/orders"),
        ("/lake/orders", "/lake/orders"),
        ("s3://lake/orders", "s3://lake/orders"),
        ("file:/lake", "file:/lake"),
        ("${LAKE}/orders", "${LAKE}/orders"),
    ],
)
def test_places(place: str, seen: str) -> None:
    assert seen_from(HERE, place) == seen


def test_home_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/of-ada")
    assert seen_from(HERE, "~/lake") == "/of-ada/lake"


@pytest.mark.parametrize(
    ("schema", "seen"),
    [
        ("json", "json"),
        ("avro:o.avsc", "avro:/jobs/o.avsc"),
        ("protobuf:o.proto:shop.Order", "protobuf:/jobs/o.proto:shop.Order"),
        ("registry:http://r:8080", "registry:http://r:8080"),
        ("registry:x", "registry:x"),
        ("avro:", "avro:"),
    ],
)
def test_schemas(schema: str, seen: str) -> None:
    assert schema_seen_from(HERE, schema) == seen

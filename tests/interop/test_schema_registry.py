"""confluent-kafka's registry client, as it is, against the registry of a running broker."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("confluent_kafka.schema_registry")

from confluent_kafka.schema_registry import (
    ConfigCompatibilityLevel,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    ServerConfig,
)
from confluent_kafka.schema_registry.error import SchemaRegistryError

from headrace.testing import Broker

from .schema_samples import (
    CHANGES,
    LEVELS,
    ORDER,
    ORDER_BROKEN,
    ORDER_WITH_NOTE,
    PERSON,
    TRANSITIVE,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.interop

WRITERS = 8


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(http=True) as broker:
        yield broker


@pytest.fixture
def client(broker: Broker) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": broker.http_url}) as client:
        yield client


def code_of(refusal: pytest.ExceptionInfo[SchemaRegistryError]) -> tuple[int, int]:
    return refusal.value.http_status_code, refusal.value.error_code


def test_subjects_versions_and_ids(client: SchemaRegistryClient) -> None:
    first = client.register_schema("orders-value", Schema(ORDER, "AVRO"))
    assert client.register_schema("orders-value", Schema(ORDER, "AVRO")) == first
    second = client.register_schema("orders-value", Schema(ORDER_WITH_NOTE, "AVRO"))
    assert second != first
    assert client.register_schema("copies/of orders", Schema(ORDER, "AVRO")) == first
    assert {"orders-value", "copies/of orders"} <= set(client.get_subjects())
    assert client.get_subjects(subject_prefix="copies/") == ["copies/of orders"]
    assert client.get_versions("orders-value") == [1, 2]
    assert client.get_latest_version("orders-value").schema_id == second
    assert json.loads(client.get_version("orders-value", 1).schema.schema_str) == json.loads(ORDER)
    assert client.lookup_schema("copies/of orders", Schema(ORDER, "AVRO")).version == 1
    assert client.get_schema(first).schema_type == "AVRO"
    users = {(use.subject, use.version) for use in client.get_schema_versions(first)}
    assert users == {("orders-value", 1), ("copies/of orders", 1)}
    assert client.get_subjects_by_schema_id(first) == ["copies/of orders", "orders-value"]
    assert sorted(client.get_schema_types()) == ["AVRO", "JSON", "PROTOBUF"]
    assert client.get_contexts() == ["."]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("change", CHANGES)
def test_every_level_allows_what_confluent_says(
    client: SchemaRegistryClient, change: str, level: str
) -> None:
    kind, before, after, allowed = CHANGES[change]
    subject = f"{change}, {level}"
    client.register_schema(subject, Schema(before, kind))
    client.set_compatibility(subject, level)
    is_allowed = level in allowed
    assert client.test_compatibility(subject, Schema(after, kind)) is is_allowed
    if is_allowed:
        client.register_schema(subject, Schema(after, kind))
        assert client.get_versions(subject) == [1, 2]
        return
    with pytest.raises(SchemaRegistryError) as refusal:
        client.register_schema(subject, Schema(after, kind))
    assert code_of(refusal) == (409, 409)
    assert client.get_versions(subject) == [1]


@pytest.mark.parametrize(
    ("level", "is_allowed"), [("BACKWARD", True), ("BACKWARD_TRANSITIVE", False)]
)
def test_transitive_levels_look_at_all_versions(
    client: SchemaRegistryClient, level: str, is_allowed: bool
) -> None:
    subject = f"three {level}"
    first, second, third = (Schema(text, "AVRO") for text in TRANSITIVE)
    client.register_schema(subject, first)
    client.register_schema(subject, second)
    client.set_compatibility(subject, level)
    assert client.test_compatibility_all_versions(subject, third) is is_allowed


def test_level_of_a_subject_and_of_all(client: SchemaRegistryClient) -> None:
    assert client.get_compatibility() == "BACKWARD"
    client.register_schema("levelled-value", Schema(ORDER, "AVRO"))
    with pytest.raises(SchemaRegistryError) as refusal:
        client.get_compatibility("levelled-value")
    assert code_of(refusal) == (404, 40408)
    client.set_config("levelled-value", ServerConfig(ConfigCompatibilityLevel.NONE))
    client.register_schema("levelled-value", Schema(ORDER_BROKEN, "AVRO"))
    client.delete_config("levelled-value")
    with pytest.raises(SchemaRegistryError) as refusal:
        client.get_config("levelled-value")
    assert code_of(refusal) == (404, 40408)


def test_same_schema_from_many_at_once_has_one_id(broker: Broker) -> None:
    def register(number: int) -> int:
        with SchemaRegistryClient({"url": broker.http_url}) as own:
            return own.register_schema("crowded-value", Schema('["null", "bytes"]', "AVRO"))

    with ThreadPoolExecutor(WRITERS) as threads:
        ids = set(threads.map(register, range(3 * WRITERS)))
    assert len(ids) == 1


def test_deletion_is_soft_first_and_ids_stay_unique(client: SchemaRegistryClient) -> None:
    gone_id = client.register_schema("deleted-value", Schema('"boolean"', "AVRO"))
    with pytest.raises(SchemaRegistryError) as early:
        client.delete_subject("deleted-value", permanent=True)
    assert code_of(early) == (404, 40405)
    assert client.delete_subject("deleted-value") == [1]
    with pytest.raises(SchemaRegistryError) as gone:
        client.get_versions("deleted-value")
    assert code_of(gone) == (404, 40401)
    assert "deleted-value" in client.get_subjects(deleted=True)
    client.clear_caches()
    assert client.get_schema(gone_id).schema_str == '"boolean"'
    client.delete_subject("deleted-value", permanent=True)
    assert "deleted-value" not in client.get_subjects(deleted=True)
    client.clear_caches()
    with pytest.raises(SchemaRegistryError) as unknown:
        client.get_schema(gone_id)
    assert code_of(unknown) == (404, 40403)
    assert client.register_schema("deleted-value", Schema('"boolean"', "AVRO")) > gone_id


def test_one_version_is_deleted(client: SchemaRegistryClient) -> None:
    client.register_schema("thinned-value", Schema(ORDER, "AVRO"))
    client.register_schema("thinned-value", Schema(ORDER_WITH_NOTE, "AVRO"))
    assert client.delete_version("thinned-value", 1) == 1
    assert client.get_versions("thinned-value") == [2]
    assert client.get_versions("thinned-value", deleted=True) == [1, 2]
    assert client.delete_version("thinned-value", 1, permanent=True) == 1
    assert client.get_versions("thinned-value", deleted=True) == [2]


def test_references_keep_what_they_name(client: SchemaRegistryClient) -> None:
    client.register_schema("named", Schema(ORDER, "AVRO"))
    line = {"type": "record", "name": "Line", "fields": [{"name": "order", "type": "Order"}]}
    schema = Schema(json.dumps(line), "AVRO", [SchemaReference("Order", "named", 1)])
    user = client.register_schema("naming", schema)
    assert client.get_referenced_by("named", 1) == [user]
    with pytest.raises(SchemaRegistryError) as refusal:
        client.delete_subject("named")
    assert code_of(refusal) == (422, 42206)
    missing = Schema(json.dumps(line), "AVRO", [SchemaReference("Order", "nothing", 1)])
    with pytest.raises(SchemaRegistryError) as refusal:
        client.register_schema("naming", missing)
    assert code_of(refusal) == (422, 42201)


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("AVRO", '{"type":"int"}', '"int"'),
        ("JSON", '{"type":"object","title":"T"}', '{"title":"T","type":"object"}'),
        ("PROTOBUF", 'syntax="proto3";message M{}', 'syntax = "proto3";\nmessage M {}\n'),
    ],
)
def test_normalized_schemas_are_the_same(
    client: SchemaRegistryClient, kind: str, one: str, other: str
) -> None:
    subject = f"normal-{kind}"
    first = client.register_schema(subject, Schema(one, kind), normalize_schemas=True)
    assert client.register_schema(subject, Schema(other, kind), normalize_schemas=True) == first
    found = client.lookup_schema(subject, Schema(other, kind), normalize_schemas=True)
    assert found.schema_id == first
    assert client.get_versions(subject) == [1]


def test_modes(client: SchemaRegistryClient) -> None:
    assert client.get_global_mode() == "READWRITE"
    client.update_mode("frozen-value", "READONLY")
    with pytest.raises(SchemaRegistryError) as refusal:
        client.register_schema("frozen-value", Schema(ORDER, "AVRO"))
    assert code_of(refusal) == (422, 42205)
    client.delete_mode("frozen-value")
    client.register_schema("frozen-value", Schema(ORDER, "AVRO"))


def test_everything_is_there_after_a_restart(tmp_path) -> None:
    with (
        Broker(directory=str(tmp_path), http=True) as broker,
        SchemaRegistryClient({"url": broker.http_url}) as client,
    ):
        first = client.register_schema("kept-value", Schema(ORDER, "AVRO"))
        client.set_compatibility("kept-value", "FULL")
        client.register_schema("gone-value", Schema(PERSON, "JSON"))
        client.delete_subject("gone-value")
    with (
        Broker(directory=str(tmp_path), http=True) as broker,
        SchemaRegistryClient({"url": broker.http_url}) as client,
    ):
        assert client.get_subjects() == ["kept-value"]
        assert client.get_subjects(deleted=True) == ["gone-value", "kept-value"]
        assert client.get_compatibility("kept-value") == "FULL"
        assert client.register_schema("other-value", Schema(ORDER, "AVRO")) == first

"""confluent-kafka's registry client and serializers, as they are, against our registry."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("confluent_kafka.schema_registry")
pytest.importorskip("google.protobuf")

from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from headrace.broker.schema_store import SchemaStore
from headrace.frontends.http.listener import HttpListener
from headrace.frontends.http.schema_registry import registry_application
from headrace.testing import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.interop

ORDER = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]})
ORDER_WITH_NOTE = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "note", "type": "string", "default": ""},
        ],
    }
)
ORDER_BROKEN = json.dumps(
    {"type": "record", "name": "Order", "fields": [{"name": "sum", "type": "string"}]}
)
PERSON = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Person",
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    }
)


WAIT_SECONDS_MAX = 30.0


class RegistryListener(HttpListener):
    """The listener's own pages first, the registry behind them."""

    def __init__(self, store: SchemaStore) -> None:
        super().__init__("127.0.0.1", 0, lambda: b"")
        self._store = store

    def _application(self) -> Any:
        application = super()._application()
        application.mount("", registry_application(self._store))
        return application


def _opened(server: Any) -> RegistryListener:
    broker = server.broker
    store = SchemaStore(broker.topics, broker.topic_changes, broker.logs, broker.clock)
    store.start()
    return RegistryListener(store)


@contextmanager
def running(directory: Path) -> Iterator[tuple[Broker, str]]:
    """The broker, and the registry's URL."""
    with Broker(directory=str(directory)) as broker:
        loop = broker.call(lambda server: asyncio.get_running_loop())
        listener = broker.call(_opened)
        asyncio.run_coroutine_threadsafe(listener.start(), loop).result(WAIT_SECONDS_MAX)
        try:
            yield broker, f"http://127.0.0.1:{listener.port}"
        finally:
            asyncio.run_coroutine_threadsafe(listener.stop(), loop).result(WAIT_SECONDS_MAX)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, str]]:
    with running(tmp_path_factory.mktemp("registry")) as both:
        yield both


@pytest.fixture
def client(served: tuple[Broker, str]) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": served[1]}) as client:
        yield client


def through_the_broker(broker: Broker, topic: str, value: bytes) -> bytes:
    """One value in and out by way of a topic."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, value)
    assert producer.flush(10) == 0
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": f"readers-of-{topic}",
            "auto.offset.reset": "earliest",
        }
    )
    try:
        consumer.subscribe([topic])
        message = consumer.poll(20)
        assert message is not None
        assert message.error() is None
        return bytes(message.value())
    finally:
        consumer.close()


def test_subjects_versions_and_ids(client: SchemaRegistryClient) -> None:
    first = client.register_schema("orders-value", Schema(ORDER, "AVRO"))
    assert client.register_schema("orders-value", Schema(ORDER, "AVRO")) == first
    second = client.register_schema("orders-value", Schema(ORDER_WITH_NOTE, "AVRO"))
    assert second != first
    assert client.register_schema("copies/of orders", Schema(ORDER, "AVRO")) == first
    assert {"orders-value", "copies/of orders"} <= set(client.get_subjects())
    assert client.get_versions("orders-value") == [1, 2]
    assert client.get_latest_version("orders-value").schema_id == second
    assert json.loads(client.get_version("orders-value", 1).schema.schema_str) == json.loads(ORDER)
    assert client.lookup_schema("copies/of orders", Schema(ORDER, "AVRO")).version == 1
    assert client.get_schema(first).schema_type == "AVRO"
    users = {(use.subject, use.version) for use in client.get_schema_versions(first)}
    assert users == {("orders-value", 1), ("copies/of orders", 1)}


def test_incompatible_schema_is_refused_and_changes_nothing(client: SchemaRegistryClient) -> None:
    client.register_schema("refused-value", Schema(ORDER, "AVRO"))
    with pytest.raises(SchemaRegistryError) as refusal:
        client.register_schema("refused-value", Schema(ORDER_BROKEN, "AVRO"))
    assert (refusal.value.http_status_code, refusal.value.error_code) == (409, 409)
    assert client.get_versions("refused-value") == [1]
    assert not client.test_compatibility("refused-value", Schema(ORDER_BROKEN, "AVRO"))
    assert client.test_compatibility("refused-value", Schema(ORDER_WITH_NOTE, "AVRO"))
    assert client.set_compatibility("refused-value", "NONE") == {"compatibility": "NONE"}
    assert client.get_compatibility("refused-value") == "NONE"
    client.register_schema("refused-value", Schema(ORDER_BROKEN, "AVRO"))
    assert client.get_versions("refused-value") == [1, 2]


def test_deletion_is_soft_first(client: SchemaRegistryClient) -> None:
    client.register_schema("deleted-value", Schema(ORDER, "AVRO"))
    with pytest.raises(SchemaRegistryError) as early:
        # The client deletes softly itself before it deletes for good; a version it does not.
        client._rest_client.delete("subjects/deleted-value?permanent=true")
    assert early.value.error_code == 40405
    assert client.delete_subject("deleted-value") == [1]
    with pytest.raises(SchemaRegistryError) as gone:
        client.get_versions("deleted-value")
    assert (gone.value.http_status_code, gone.value.error_code) == (404, 40401)
    assert "deleted-value" in client.get_subjects(deleted=True)
    client._rest_client.delete("subjects/deleted-value?permanent=true")
    assert "deleted-value" not in client.get_subjects(deleted=True)


def test_modes(client: SchemaRegistryClient) -> None:
    assert client.get_global_mode() == "READWRITE"
    client.update_mode("frozen-value", "READONLY")
    with pytest.raises(SchemaRegistryError) as refusal:
        client.register_schema("frozen-value", Schema(ORDER, "AVRO"))
    assert (refusal.value.http_status_code, refusal.value.error_code) == (422, 42205)
    client.delete_mode("frozen-value")
    client.register_schema("frozen-value", Schema(ORDER, "AVRO"))


def test_avro_through_the_broker(served: tuple[Broker, str], client: SchemaRegistryClient) -> None:
    topic = served[0].create_topic("avro")
    context = SerializationContext(topic, MessageField.VALUE)
    written = AvroSerializer(client, ORDER)({"id": 7}, context)
    arrived = through_the_broker(served[0], topic, written)
    assert AvroDeserializer(client)(arrived, context) == {"id": 7}
    assert AvroDeserializer(client, ORDER_WITH_NOTE)(arrived, context) == {"id": 7, "note": ""}


def test_avro_with_a_reference(client: SchemaRegistryClient) -> None:
    client.register_schema("order", Schema(ORDER, "AVRO"))
    line = {
        "type": "record",
        "name": "Line",
        "fields": [{"name": "order", "type": "Order"}, {"name": "count", "type": "int"}],
    }
    schema = Schema(json.dumps(line), "AVRO", [SchemaReference("Order", "order", 1)])
    context = SerializationContext("lines", MessageField.VALUE)
    value = {"order": {"id": 1}, "count": 2}
    written = AvroSerializer(client, schema)(value, context)
    assert AvroDeserializer(client)(written, context) == value
    with pytest.raises(SchemaRegistryError) as refusal:
        client.delete_subject("order")
    assert refusal.value.error_code == 42206


def test_json_schema_through_the_broker(
    served: tuple[Broker, str], client: SchemaRegistryClient
) -> None:
    topic = served[0].create_topic("json")
    context = SerializationContext(topic, MessageField.VALUE)
    written = JSONSerializer(PERSON, client)({"name": "Ada"}, context)
    arrived = through_the_broker(served[0], topic, written)
    assert JSONDeserializer(None, schema_registry_client=client)(arrived, context) == {
        "name": "Ada"
    }


def message_classes() -> tuple[Any, Any]:
    """``shop.Basket`` and ``shop.Item``, of two files of which one imports the other."""
    item = FileDescriptorProto(name="item.proto", package="shop", syntax="proto3")
    message = item.message_type.add(name="Item")
    message.field.add(name="name", number=1, type=FieldDescriptorProto.TYPE_STRING, label=1)
    basket = FileDescriptorProto(
        name="basket.proto", package="shop", syntax="proto3", dependency=["item.proto"]
    )
    basket.message_type.add(name="Basket").field.add(
        name="items",
        number=1,
        type=FieldDescriptorProto.TYPE_MESSAGE,
        type_name=".shop.Item",
        label=FieldDescriptorProto.LABEL_REPEATED,
    )
    pool = DescriptorPool()
    pool.Add(item)
    pool.Add(basket)
    find = pool.FindMessageTypeByName
    return GetMessageClass(find("shop.Basket")), GetMessageClass(find("shop.Item"))


def test_protobuf_with_an_import_through_the_broker(
    served: tuple[Broker, str], client: SchemaRegistryClient
) -> None:
    basket_class, item_class = message_classes()
    topic = served[0].create_topic("protobuf")
    context = SerializationContext(topic, MessageField.VALUE)
    settings = {"use.deprecated.format": False}
    value = basket_class(items=[item_class(name="pen")])
    written = ProtobufSerializer(basket_class, client, settings)(value, context)
    arrived = through_the_broker(served[0], topic, written)
    read = ProtobufDeserializer(basket_class, settings, client)(arrived, context)
    assert read == value
    (reference,) = client.get_latest_version("protobuf-value").schema.references
    assert (reference.name, reference.subject, reference.version) == ("item.proto",) * 2 + (1,)


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    with running(tmp_path) as (_, url), SchemaRegistryClient({"url": url}) as client:
        first = client.register_schema("kept-value", Schema(ORDER, "AVRO"))
        client.set_compatibility("kept-value", "FULL")
        client.register_schema("gone-value", Schema(PERSON, "JSON"))
        client.delete_subject("gone-value")
    with running(tmp_path) as (_, url), SchemaRegistryClient({"url": url}) as client:
        assert client.get_subjects() == ["kept-value"]
        assert client.get_subjects(deleted=True) == ["gone-value", "kept-value"]
        assert client.get_compatibility("kept-value") == "FULL"
        assert client.register_schema("other-value", Schema(ORDER, "AVRO")) == first

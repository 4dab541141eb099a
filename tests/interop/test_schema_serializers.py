"""confluent-kafka's serializers, as they are: records in and out through a topic of a broker, whose
registry has their schemas."""

from __future__ import annotations

import json
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

from headrace.testing import Broker

from .schema_samples import ORDER, ORDER_BROKEN, ORDER_WITH_NOTE, PERSON

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.interop

WAIT_SECONDS_MAX = 20


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(http=True) as broker:
        yield broker


@pytest.fixture
def client(broker: Broker) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": broker.http_url}) as client:
        yield client


def through_the_broker(broker: Broker, topic: str, value: bytes) -> bytes:
    """One value in and out by way of a topic."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, value)
    assert producer.flush(WAIT_SECONDS_MAX) == 0
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": f"readers-of-{topic}",
            "auto.offset.reset": "earliest",
        }
    )
    try:
        consumer.subscribe([topic])
        message = consumer.poll(WAIT_SECONDS_MAX)
        assert message is not None
        assert message.error() is None
        return bytes(message.value())
    finally:
        consumer.close()


def value_of(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def test_avro(broker: Broker, client: SchemaRegistryClient) -> None:
    topic = broker.create_topic("avro")
    written = AvroSerializer(client, ORDER)({"id": 7}, value_of(topic))
    arrived = through_the_broker(broker, topic, written)
    assert AvroDeserializer(client)(arrived, value_of(topic)) == {"id": 7}
    newer = AvroDeserializer(client, ORDER_WITH_NOTE)
    assert newer(arrived, value_of(topic)) == {"id": 7, "note": ""}


def test_avro_that_does_not_fit_is_refused_before_it_is_sent(client: SchemaRegistryClient) -> None:
    AvroSerializer(client, ORDER)({"id": 7}, value_of("strict"))
    with pytest.raises(SchemaRegistryError) as refusal:
        AvroSerializer(client, ORDER_BROKEN)({"sum": "1"}, value_of("strict"))
    assert refusal.value.http_status_code == 409


def test_avro_with_a_reference(client: SchemaRegistryClient) -> None:
    client.register_schema("order", Schema(ORDER, "AVRO"))
    line = {
        "type": "record",
        "name": "Line",
        "fields": [{"name": "order", "type": "Order"}, {"name": "count", "type": "int"}],
    }
    schema = Schema(json.dumps(line), "AVRO", [SchemaReference("Order", "order", 1)])
    value = {"order": {"id": 1}, "count": 2}
    written = AvroSerializer(client, schema)(value, value_of("lines"))
    assert AvroDeserializer(client)(written, value_of("lines")) == value


def test_json_schema(broker: Broker, client: SchemaRegistryClient) -> None:
    topic = broker.create_topic("json")
    written = JSONSerializer(PERSON, client)({"name": "Ada"}, value_of(topic))
    arrived = through_the_broker(broker, topic, written)
    read = JSONDeserializer(None, schema_registry_client=client)(arrived, value_of(topic))
    assert read == {"name": "Ada"}


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


def test_protobuf_with_an_import(broker: Broker, client: SchemaRegistryClient) -> None:
    basket_class, item_class = message_classes()
    topic = broker.create_topic("protobuf")
    settings = {"use.deprecated.format": False}
    value = basket_class(items=[item_class(name="pen")])
    written = ProtobufSerializer(basket_class, client, settings)(value, value_of(topic))
    arrived = through_the_broker(broker, topic, written)
    read = ProtobufDeserializer(basket_class, settings, client)(arrived, value_of(topic))
    assert read == value
    (reference,) = client.get_latest_version("protobuf-value").schema.references
    assert (reference.name, reference.subject, reference.version) == ("item.proto",) * 2 + (1,)


@pytest.mark.parametrize("kind", ["latest", "looked up"])
def test_serializers_that_must_not_register(client: SchemaRegistryClient, kind: str) -> None:
    """As in production: schemas are registered by hand, services only use them."""
    client.register_schema("locked-value", Schema(ORDER, "AVRO"))
    settings = {"auto.register.schemas": False, "use.latest.version": kind == "latest"}
    written = AvroSerializer(client, ORDER, conf=settings)({"id": 1}, value_of("locked"))
    assert AvroDeserializer(client)(written, value_of("locked")) == {"id": 1}
    assert client.get_versions("locked-value") == [1]

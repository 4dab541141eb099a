"""Protobuf messages as columns."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest
from google.protobuf import struct_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message_factory import GetMessageClass

from headrace.model.errors import InvalidConfig
from headrace.pipeline.decoding.protobuf_decoder import (
    ProtobufDecoder,
    link,
    message_by_indexes,
    message_by_name,
)

from .values import binary, good, reasons, rows

SCALARS = {
    "id": Field.TYPE_INT64,
    "name": Field.TYPE_STRING,
    "wide": Field.TYPE_UINT64,
    "data": Field.TYPE_BYTES,
}


def order_file() -> bytes:
    file = FileDescriptorProto(name="order.proto", package="shop", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    message = file.message_type.add(name="Order")
    for number, (name, kind) in enumerate(SCALARS.items(), 1):
        message.field.add(name=name, number=number, type=kind, label=Field.LABEL_OPTIONAL)
    message.field.add(name="tags", number=5, type=Field.TYPE_STRING, label=Field.LABEL_REPEATED)
    inner = message.nested_type.add(name="Line")
    inner.field.add(name="q", number=1, type=Field.TYPE_INT32, label=Field.LABEL_OPTIONAL)
    for number, name, kind in (
        (6, "line", ".shop.Order.Line"),
        (7, "at", ".google.protobuf.Timestamp"),
    ):
        message.field.add(
            name=name,
            number=number,
            type=Field.TYPE_MESSAGE,
            type_name=kind,
            label=Field.LABEL_OPTIONAL,
        )
    file.message_type.add(name="Empty")
    return file.SerializeToString()


def test_messages_and_what_is_broken() -> None:
    descriptor = message_by_name(link(order_file()), "shop.Order")
    order = GetMessageClass(descriptor)
    full = order(id=1, name="n", wide=2**64 - 1, data=b"d", tags=["a"])
    full.line.q = 4
    full.at.seconds = 5
    decoder = ProtobufDecoder(descriptor)
    decoded = decoder.decode(
        binary(full.SerializeToString(), b"\xff\xff", None, order(id=2).SerializeToString())
    )
    assert good(decoded) == [0, 2, 3]
    first, missing, empty = rows(decoded)
    assert first == {
        "id": 1,
        "name": "n",
        "wide": Decimal(2**64 - 1),
        "data": b"d",
        "tags": ["a"],
        "line": {"q": 4},
        "at": datetime.datetime(1970, 1, 1, 0, 0, 5, tzinfo=datetime.UTC),
    }
    assert set(missing.values()) == {None}
    assert empty["id"] == 2
    assert empty["line"] is None
    assert "failed to decode" in reasons(decoded)[1]


def test_messages_are_found_by_name_and_by_place() -> None:
    file = link(order_file())
    assert message_by_name(file, None).full_name == "shop.Order"
    assert message_by_name(file, "Line").full_name == "shop.Order.Line"
    assert message_by_indexes(file, (1,)).full_name == "shop.Empty"
    assert message_by_indexes(file, (0, 0)).full_name == "shop.Order.Line"
    for indexes in ((2,), (0, 1), (-1,), ()):
        with pytest.raises(InvalidConfig):
            message_by_indexes(file, indexes)
    with pytest.raises(InvalidConfig, match="no message Other"):
        message_by_name(file, "Other")


def test_a_message_that_contains_itself_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="contains itself"):
        ProtobufDecoder(struct_pb2.Struct.DESCRIPTOR)


def test_what_is_no_descriptor_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="descriptor"):
        link(b"\xff\xff")

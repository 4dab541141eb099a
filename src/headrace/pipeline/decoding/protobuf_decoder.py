"""Protobuf messages as columns, decoded in whole arrays by ptars (Rust).

Descriptors come as serialized ``FileDescriptorProto``: they can be pickled, and no compiler of
``.proto`` files is needed where the tasks run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ptars
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from headrace.model.errors import InvalidConfig
from headrace.pipeline.decoding.salvage import decode_salvaging
from headrace.pipeline.decoding.storable import storable_schema, to_storable
from headrace.schemas.protobuf_schema import WELL_KNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from google.protobuf.descriptor import Descriptor, FileDescriptor

    from headrace.pipeline.decoding.model import DecodedValues

FIRST_MESSAGE = (0,)


class ProtobufDecoder:
    """Messages of one type."""

    def __init__(self, descriptor: Descriptor) -> None:
        _raise_if_recursive(descriptor, ())
        config = ptars.PtarsConfig(
            timestamp_unit="us", time_unit="us", duration_unit="us", enum_repr="string"
        )
        pool = ptars.HandlerPool([descriptor.file], config)
        self._handler = pool.get_for_message(descriptor)
        self._schema = storable_schema(self._handler.schema())

    def schema(self) -> pa.Schema:
        return self._schema

    def decode(self, values: pa.BinaryArray) -> DecodedValues:
        return decode_salvaging(values, self._schema, self._decode)

    def _decode(self, values: pa.BinaryArray) -> pa.RecordBatch:
        batch = self._handler.array_to_record_batch(values)
        return to_storable(batch, self._schema)


def link(file: bytes, dependencies: Mapping[str, bytes] | None = None) -> FileDescriptor:
    """The file with all that it imports; ``dependencies`` by the names that imports give them."""
    pool = DescriptorPool()
    present: set[str] = set()
    try:
        named = [FileDescriptorProto.FromString(one) for one in WELL_KNOWN]
        for name, one in (dependencies or {}).items():
            named.append(FileDescriptorProto.FromString(one))
            named[-1].name = name
        named.append(FileDescriptorProto.FromString(file))
        for description in named:
            if description.name not in present:
                present.add(description.name)
                pool.Add(description)
        return pool.FindFileByName(named[-1].name)
    except (DecodeError, TypeError, KeyError, ValueError) as error:
        raise InvalidConfig(f"no usable Protobuf descriptor: {error}") from error


def message_by_name(file: FileDescriptor, name: str | None) -> Descriptor:
    """By full or short name; without one, the first of the file."""
    if name is None:
        return message_by_indexes(file, FIRST_MESSAGE)
    found: list[Descriptor] = list(file.message_types_by_name.values())
    for one in found:  # grows while it is walked: messages within messages
        if name in (one.full_name, one.name):
            return one
        found.extend(one.nested_types)
    raise InvalidConfig(f"the Protobuf schema has no message {name}")


def message_by_indexes(file: FileDescriptor, indexes: Sequence[int]) -> Descriptor:
    """As Confluent's wire format names a message: its place in the file, then within."""
    messages: Sequence[Descriptor] = list(file.message_types_by_name.values())
    found: Descriptor | None = None
    for index in indexes:
        if not 0 <= index < len(messages):
            raise InvalidConfig(f"the Protobuf schema has no message at {list(indexes)}")
        found = messages[index]
        messages = list(found.nested_types)
    if found is None:
        raise InvalidConfig("the Protobuf schema has no message")
    return found


def _raise_if_recursive(descriptor: Descriptor, inside: tuple[str, ...]) -> None:
    if descriptor.full_name in inside:
        raise InvalidConfig(
            f"{descriptor.full_name} contains itself, so it cannot be a table's columns"
        )
    for field in descriptor.fields:
        if field.message_type is not None:
            _raise_if_recursive(field.message_type, (*inside, descriptor.full_name))

"""Protobuf: the text of a ``.proto`` file, or its descriptor in base64 as Confluent's clients send.

Both become a descriptor, which the pool of ``protobuf`` links with what it imports.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

from google.protobuf import (
    any_pb2,
    api_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from headrace.schemas.errors import InvalidSchema
from headrace.schemas.protobuf_comparison import compare_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.schemas.model import Dependency, ParsedSchema

WELL_KNOWN = tuple(
    module.DESCRIPTOR.serialized_pb
    for module in (
        *(any_pb2, source_context_pb2, type_pb2, api_pb2, descriptor_pb2, duration_pb2),
        *(empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2),
    )
)
OWN_NAME = "default.proto"
"""What a schema is called that nobody imports; its text does not say."""


class ProtobufSchema:
    """One file, linked."""

    def __init__(self, text: str, file: FileDescriptorProto, *, is_text: bool) -> None:
        self._text = text
        self._file = file
        self._is_text = is_text

    @property
    def canonical(self) -> str:
        return self._text

    @property
    def normalized(self) -> str:
        if not self._is_text:
            return self._text
        from proto_schema_parser.generator import Generator

        from headrace.schemas.protobuf_text import parse_text

        return Generator().generate(parse_text(self._text))

    @property
    def serialized(self) -> str:
        """The descriptor in base64, for clients that ask for ``format=serialized``."""
        if not self._is_text:
            return self._text
        return b64encode(self._file.SerializeToString(deterministic=True)).decode()

    def problems_reading(self, writer: ParsedSchema) -> list[str]:
        if not isinstance(writer, ProtobufSchema):
            return ["the kind of the schema has changed"]
        return compare_files(self._file, writer._file)


def parse_protobuf(text: str, dependencies: Sequence[Dependency]) -> ProtobufSchema:
    pool = DescriptorPool()
    for serialized in WELL_KNOWN:
        pool.AddSerializedFile(serialized)
    present = {FileDescriptorProto.FromString(file).name for file in WELL_KNOWN}
    for dependency in dependencies:
        if dependency.name not in present:
            _link(pool, _understand(dependency.text, dependency.name)[0])
            present.add(dependency.name)
    file, is_text = _understand(text, OWN_NAME)
    if file.name in present:
        file.name = OWN_NAME
    return ProtobufSchema(text.strip(), _link(pool, file), is_text=is_text)


def _understand(text: str, name: str) -> tuple[FileDescriptorProto, bool]:
    binary = _descriptor_in_base64(text)
    if binary is not None:
        if name != OWN_NAME:
            binary.name = name
        return binary, False
    from headrace.schemas.protobuf_text import parse_text, to_descriptor

    return to_descriptor(parse_text(text), name), True


def _descriptor_in_base64(text: str) -> FileDescriptorProto | None:
    """None if it is not one: then it is taken for the text of a file."""
    try:
        return FileDescriptorProto.FromString(b64decode(text.strip(), validate=True))
    except (binascii.Error, ValueError, DecodeError):
        return None


def _link(pool: DescriptorPool, file: FileDescriptorProto) -> FileDescriptorProto:
    linked = FileDescriptorProto()
    try:
        pool.Add(file)
        pool.FindFileByName(file.name).CopyToProto(linked)
    except (TypeError, KeyError, ValueError) as error:
        raise InvalidSchema(f"Invalid schema of type PROTOBUF, details: {error}") from error
    return linked

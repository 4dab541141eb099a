"""From the text of a ``.proto`` file to its descriptor.

``proto-schema-parser`` knows the grammar; the descriptor pool of ``protobuf`` resolves the names
and checks the rest. Services, extensions and options do not shape messages on the wire: they are
kept in the text and left out of the descriptor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antlr4.error.ErrorListener import ErrorListener
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from proto_schema_parser import ast
from proto_schema_parser.parser import Parser

from headrace.schemas.errors import InvalidSchema

if TYPE_CHECKING:
    from collections.abc import Iterable

FIELD_NUMBER_MAX = 536_870_911
SCALARS = {
    name: getattr(FieldDescriptorProto, f"TYPE_{name.upper()}")
    for name in (
        *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64"),
        *("fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes"),
    )
}
LABELS = {
    None: FieldDescriptorProto.LABEL_OPTIONAL,
    ast.FieldCardinality.OPTIONAL: FieldDescriptorProto.LABEL_OPTIONAL,
    ast.FieldCardinality.REQUIRED: FieldDescriptorProto.LABEL_REQUIRED,
    ast.FieldCardinality.REPEATED: FieldDescriptorProto.LABEL_REPEATED,
}


class _Strict(ErrorListener):
    """The parser mends errors and goes on: a registry must not."""

    def syntaxError(
        self, recognizer: Any, symbol: Any, line: int, column: int, message: str, error: Any
    ) -> None:
        raise InvalidSchema(f"Invalid schema of type PROTOBUF, details: {line}:{column} {message}")


def _be_strict(machine: Any) -> None:
    machine.removeErrorListeners()
    machine.addErrorListener(_Strict())


def parse_text(text: str) -> ast.File:
    """The syntax tree, or InvalidSchema."""
    return Parser(setup_lexer=_be_strict, setup_parser=_be_strict).parse(text)


def to_descriptor(file: ast.File, name: str) -> FileDescriptorProto:
    """A descriptor whose type names are not resolved yet."""
    if file.edition is not None:
        raise InvalidSchema("editions of Protobuf are not supported: use proto2 or proto3")
    result = FileDescriptorProto(name=name, syntax=file.syntax or "proto2")
    if result.syntax not in ("proto2", "proto3"):
        raise InvalidSchema(f"{result.syntax!r} is no syntax of Protobuf")
    for element in file.file_elements:
        if isinstance(element, ast.Package):
            result.package = element.name
        elif isinstance(element, ast.Import):
            result.dependency.append(element.name)
            if element.public:
                result.public_dependency.append(len(result.dependency) - 1)
        elif isinstance(element, ast.Message):
            _fill_message(result.message_type.add(), element, result.syntax)
        elif isinstance(element, ast.Enum):
            _fill_enum(result.enum_type.add(), element)
    return result


def _fill_message(target: DescriptorProto, message: ast.Message, syntax: str) -> None:
    target.name = message.name
    optional: list[FieldDescriptorProto] = []
    for element in message.elements:
        if isinstance(element, ast.Field):
            field = _add_field(target, element)
            if syntax == "proto3" and element.cardinality is ast.FieldCardinality.OPTIONAL:
                optional.append(field)
        elif isinstance(element, ast.MapField):
            _add_map(target, element)
        elif isinstance(element, ast.OneOf):
            target.oneof_decl.add(name=element.name)
            for member in element.elements:
                if isinstance(member, ast.Field):
                    _add_field(target, member).oneof_index = len(target.oneof_decl) - 1
        elif isinstance(element, ast.Message):
            _fill_message(target.nested_type.add(), element, syntax)
        elif isinstance(element, ast.Enum):
            _fill_enum(target.enum_type.add(), element)
        elif isinstance(element, ast.Group):
            raise InvalidSchema(f"group {element.name!r}: groups are not supported")
        elif isinstance(element, ast.Reserved):
            target.reserved_name.extend(element.names)
            for start, end in _ranges(element.ranges, FIELD_NUMBER_MAX):
                target.reserved_range.add(start=start, end=end + 1)
        elif isinstance(element, ast.ExtensionRange):
            for start, end in _ranges(element.ranges, FIELD_NUMBER_MAX):
                target.extension_range.add(start=start, end=end + 1)
    for field in optional:  # one-ofs that only mark presence come after the real ones
        field.proto3_optional = True
        field.oneof_index = len(target.oneof_decl)
        target.oneof_decl.add(name=f"_{field.name}")


def _add_field(target: DescriptorProto, field: ast.Field) -> FieldDescriptorProto:
    result = target.field.add(name=field.name, label=LABELS[field.cardinality])
    try:
        result.number = field.number
    except ValueError as error:
        raise InvalidSchema(f"field {field.name!r}: {error}") from error
    _set_type(result, field.type)
    return result


def _set_type(field: FieldDescriptorProto, name: str) -> None:
    if name in SCALARS:
        field.type = SCALARS[name]
    else:
        field.type_name = name  # message or enumeration: the pool finds out


def _add_map(target: DescriptorProto, field: ast.MapField) -> None:
    """A map is a repeated message of key and value, named after the field."""
    words = field.name.split("_")
    entry = target.nested_type.add(name="".join(w[:1].upper() + w[1:] for w in words) + "Entry")
    entry.options.map_entry = True
    optional = FieldDescriptorProto.LABEL_OPTIONAL
    _set_type(entry.field.add(name="key", number=1, label=optional), field.key_type)
    _set_type(entry.field.add(name="value", number=2, label=optional), field.value_type)
    repeated = ast.FieldCardinality.REPEATED
    _add_field(target, ast.Field(field.name, field.number, entry.name, repeated))


def _fill_enum(target: EnumDescriptorProto, enum: ast.Enum) -> None:
    target.name = enum.name
    for element in enum.elements:
        if isinstance(element, ast.EnumValue):
            try:
                target.value.add(name=element.name, number=element.number)
            except ValueError as error:
                raise InvalidSchema(f"value {element.name!r}: {error}") from error
        elif isinstance(element, ast.Option) and element.name == "allow_alias":
            target.options.allow_alias = str(element.value).lower() == "true"


def _ranges(texts: Iterable[str], largest: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for text in texts:
        start, _, end = text.partition(" to ")
        try:
            first = int(start)
            last = largest if end.strip() == "max" else int(end or start)
        except ValueError as error:
            raise InvalidSchema(f"{text!r} is no range of field numbers") from error
        if not 0 < first <= last <= largest:
            raise InvalidSchema(f"{text!r} is no range of field numbers")
        found.append((first, last))
    return found

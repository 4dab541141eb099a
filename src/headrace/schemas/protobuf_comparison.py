"""Can a reader's messages be filled from what a writer's messages put on the wire?

No kept library answers this, so these are the rules of Confluent's documentation. Messages are
matched by name within the package, fields by number; names of fields are free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from google.protobuf.descriptor_pb2 import FileDescriptorProto

PROBLEMS_MAX = 100

_F = FieldDescriptorProto
_VARINT = (
    *(_F.TYPE_INT32, _F.TYPE_INT64, _F.TYPE_UINT32, _F.TYPE_UINT64),
    *(_F.TYPE_BOOL, _F.TYPE_ENUM),
)
_GROUPS = (
    _VARINT,
    (_F.TYPE_SINT32, _F.TYPE_SINT64),
    (_F.TYPE_FIXED32, _F.TYPE_SFIXED32),
    (_F.TYPE_FIXED64, _F.TYPE_SFIXED64),
    (_F.TYPE_STRING, _F.TYPE_BYTES),
)
WIRE_GROUP = {int(kind): group for group, kinds in enumerate(_GROUPS) for kind in kinds}
"""Types with the same number here have the same form on the wire and may replace one another."""
LENGTH_DELIMITED = (_F.TYPE_STRING, _F.TYPE_BYTES, _F.TYPE_MESSAGE)


def compare_files(reader: FileDescriptorProto, writer: FileDescriptorProto) -> list[str]:
    """What stands against reading with ``reader`` what ``writer`` wrote."""
    new = dict(_messages(reader.message_type, ""))
    found: list[str] = []
    for name, message in _messages(writer.message_type, ""):
        if name in new:
            found += _compare_messages(new[name], message, name, (reader.package, writer.package))
        elif not message.options.map_entry:
            found.append(f"message {name} was removed")
    return found[:PROBLEMS_MAX]


def _messages(
    messages: Iterable[DescriptorProto], prefix: str
) -> Iterator[tuple[str, DescriptorProto]]:
    for message in messages:
        name = prefix + message.name
        yield name, message
        yield from _messages(message.nested_type, f"{name}.")


def _compare_messages(
    new: DescriptorProto, old: DescriptorProto, name: str, packages: tuple[str, str]
) -> list[str]:
    mine = {field.number: field for field in new.field}
    theirs = {field.number: field for field in old.field}
    found: list[str] = []
    for number in sorted({*mine, *theirs}):
        here = f"field {number} of {name}"
        if number in mine and number in theirs:
            found += _compare_fields(mine[number], theirs[number], here, packages)
        elif _F.LABEL_REQUIRED in (f[number].label for f in (mine, theirs) if number in f):
            found.append(f"{here}: a required field was {'added' if number in mine else 'removed'}")
    return found + _compare_oneofs(new, old, name)


def _compare_fields(
    new: FieldDescriptorProto, old: FieldDescriptorProto, here: str, packages: tuple[str, str]
) -> list[str]:
    found: list[str] = []
    same_group = new.type in WIRE_GROUP and WIRE_GROUP[new.type] == WIRE_GROUP.get(old.type)
    if new.type != old.type and not same_group:
        found.append(f"{here}: its type has changed")
    elif new.type == old.type == _F.TYPE_MESSAGE and (
        _relative(new.type_name, packages[0]) != _relative(old.type_name, packages[1])
    ):
        found.append(f"{here}: its type has changed from {old.type_name} to {new.type_name}")
    was_repeated, is_repeated = (f.label == _F.LABEL_REPEATED for f in (old, new))
    if was_repeated != is_repeated and new.type not in LENGTH_DELIMITED:
        found.append(f"{here}: a number became repeated, or no longer is")
    if (new.label == _F.LABEL_REQUIRED) != (old.label == _F.LABEL_REQUIRED):
        found.append(f"{here}: it became required, or no longer is")
    return found


def _relative(name: str, package: str) -> str:
    """A package may be renamed as a whole."""
    return name.removeprefix(f".{package}." if package else ".")


def _oneofs(message: DescriptorProto) -> dict[int, str]:
    """Number of a field to the one-of that it is in."""
    return {
        field.number: message.oneof_decl[field.oneof_index].name
        for field in message.field
        if field.HasField("oneof_index") and not field.proto3_optional
    }


def _compare_oneofs(new: DescriptorProto, old: DescriptorProto, name: str) -> list[str]:
    mine, theirs = _oneofs(new), _oneofs(old)
    numbers = {field.number for field in new.field}
    existed = {field.number for field in old.field}
    found = [
        f"field {number} of {name}: removed from oneof {oneof}"
        for number, oneof in sorted(theirs.items())
        if number not in numbers and oneof in mine.values()
    ]
    for oneof in sorted(set(mine.values())):
        members = [number for number, of in mine.items() if of == oneof]
        moved = [number for number in members if number in existed and number not in theirs]
        if len(moved) > 1 or (moved and any(number in theirs for number in members)):
            found.append(f"oneof {oneof} of {name}: existing fields were moved into it")
    return found

"""Writes the message classes: one per struct, serving all versions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kafka_codecs.schema import ClassDefinition, Field, Message, Struct

if TYPE_CHECKING:
    from kafka_codecs.source import Source


def class_definitions(messages: list[Message]) -> dict[str, ClassDefinition]:
    """The classes of some messages, nested ones first, each with the fields of all versions."""
    definitions: dict[str, ClassDefinition] = {}
    for message in messages:
        # The newest version leads, so that positional arguments follow the newest schema.
        for version in sorted(message.versions, reverse=True):
            merge_struct(definitions, message.versions[version])
    return definitions


def merge_struct(definitions: dict[str, ClassDefinition], struct: Struct) -> None:
    for item in struct.fields:
        if item.struct is not None:
            merge_struct(definitions, item.struct)
    definition = definitions.setdefault(struct.name, ClassDefinition(struct.name))
    previous: str | None = None
    for item in struct.fields:
        known = definition.fields.get(item.name)
        if known is None:
            definition.fields = insert_after(definition.fields, previous, item)
        else:
            definition.fields[item.name] = merge_field(struct.name, known, item)
        previous = item.name


def insert_after(fields: dict[str, Field], previous: str | None, item: Field) -> dict[str, Field]:
    names = list(fields)
    names.insert(0 if previous is None else names.index(previous) + 1, item.name)
    return {name: fields.get(name, item) for name in names}


def merge_field(owner: str, known: Field, item: Field) -> Field:
    """The field as it is in either version: nullable if it ever is."""
    same = (
        known.kind == item.kind
        and known.is_array == item.is_array
        and known.default == item.default
        and (known.struct is None) == (item.struct is None)
    )
    if not same:
        raise ValueError(f"{owner}.{item.name} changes its type between versions")
    tag = known.tag if known.tag is not None else item.tag
    return replace(known, is_nullable=known.is_nullable or item.is_nullable, tag=tag)


def absent_fields(
    definitions: dict[str, ClassDefinition], struct: Struct
) -> dict[str, list[Field]]:
    """Per class, the fields that this version of a message does not carry."""
    present = {item.name for item in struct.fields}
    fields = definitions[struct.name].fields
    absent = {struct.name: [item for name, item in fields.items() if name not in present]}
    for item in struct.fields:
        if item.struct is not None:
            absent.update(absent_fields(definitions, item.struct))
    return absent


def field_versions(messages: list[Message]) -> dict[tuple[str, str], list[int]]:
    """The versions in which each field of each class is on the wire."""
    versions: dict[tuple[str, str], list[int]] = {}
    for message in messages:
        for version, struct in sorted(message.versions.items()):
            note_versions(versions, version, struct)
    return versions


def note_versions(versions: dict[tuple[str, str], list[int]], version: int, struct: Struct) -> None:
    for item in struct.fields:
        seen = versions.setdefault((struct.name, item.name), [])
        if version not in seen:
            seen.append(version)
        if item.struct is not None:
            note_versions(versions, version, item.struct)


def version_range(versions: list[int]) -> str:
    first, last = min(versions), max(versions)
    return f"version {first}" if first == last else f"versions {first}-{last}"


def write_classes(
    source: Source, definitions: dict[str, ClassDefinition], messages: list[Message]
) -> None:
    versions = field_versions(messages)
    every = {version for message in messages for version in message.versions}
    for definition in definitions.values():
        write_class(source, definition, versions, every)


def write_class(
    source: Source,
    definition: ClassDefinition,
    versions: dict[tuple[str, str], list[int]],
    every: set[int],
) -> None:
    source.line()
    source.line()
    fields = list(definition.fields.values())
    with source.block(f"class {definition.name}(Structure):"):
        if not fields:
            source.line("__slots__ = ()")
            return
        with source.block("__slots__ = ("):
            for item in fields:
                source.line(f'"{item.name}",')
        source.line(")")
        source.line()
        with source.block("def __init__("):
            source.line("self,")
            for item in fields:
                seen = versions[definition.name, item.name]
                note = "" if set(seen) >= every else f"  # {version_range(seen)}"
                source.line(f"{parameter(item)},{note}")
        with source.block(") -> None:"):
            for item in fields:
                source.line(f"self.{item.name} = {assigned(item)}")


def parameter(item: Field) -> str:
    if item.default:
        return f"{item.name}: {item.annotation} = {item.default}"
    return f"{item.name}: {item.annotation} | None = None"


def assigned(item: Field) -> str:
    if item.default:
        return item.name
    return f"{item.annotation}() if {item.name} is None else {item.name}"

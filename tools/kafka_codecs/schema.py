"""The schema of one message, independent of where it was read from.

A `Struct` is the layout of one struct in *one* version; a `Message` holds all versions of a
request, a response or a stored blob. Everything that writes source code works on these values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

ZERO_UUID = "ZERO_UUID"


class Shape(Enum):
    """How a value lies on the wire."""

    FIXED = "fixed"
    STRING = "string"
    BYTES = "bytes"
    RECORDS = "records"
    STRUCT = "struct"


@dataclass(frozen=True)
class Kind:
    """A primitive type: its wire shape, its `struct` format and its Python face."""

    shape: Shape
    annotation: str
    default: str
    code: str = ""
    size: int = 0


KINDS: dict[str, Kind] = {
    "bool": Kind(Shape.FIXED, "bool", "False", "?", 1),
    "int8": Kind(Shape.FIXED, "int", "0", "b", 1),
    "int16": Kind(Shape.FIXED, "int", "0", "h", 2),
    "int32": Kind(Shape.FIXED, "int", "0", "i", 4),
    "int64": Kind(Shape.FIXED, "int", "0", "q", 8),
    "uint16": Kind(Shape.FIXED, "int", "0", "H", 2),
    "uint32": Kind(Shape.FIXED, "int", "0", "I", 4),
    "float64": Kind(Shape.FIXED, "float", "0.0", "d", 8),
    "uuid": Kind(Shape.FIXED, "bytes", ZERO_UUID, "16s", 16),
    "string": Kind(Shape.STRING, "str", '""'),
    "bytes": Kind(Shape.BYTES, "bytes", 'b""'),
    "records": Kind(Shape.RECORDS, "Records | None", "None"),
    "struct": Kind(Shape.STRUCT, "", ""),
}


@dataclass(frozen=True)
class Field:
    """One field of a struct in one version."""

    name: str
    kind: Kind
    struct: Struct | None
    is_array: bool
    is_nullable: bool
    tag: int | None
    default: str

    @property
    def shape(self) -> Shape:
        return self.kind.shape

    @property
    def is_fixed(self) -> bool:
        return self.shape is Shape.FIXED and not self.is_array

    @property
    def annotation(self) -> str:
        base = self.struct.name if self.struct is not None else self.kind.annotation
        if self.is_array:
            base = f"Sequence[{base}]"
        is_absent_when_default = self.struct is not None and self.tag is not None
        if (self.is_nullable or (is_absent_when_default and not self.is_array)) and (
            "None" not in base
        ):
            return f"{base} | None"
        return base


@dataclass(frozen=True)
class Struct:
    """The layout of one struct in one version; `fields` are in wire order, tagged ones too."""

    name: str
    fields: tuple[Field, ...]
    is_flexible: bool

    @property
    def plain_fields(self) -> list[Field]:
        return [item for item in self.fields if item.tag is None]

    @property
    def tagged_fields(self) -> list[Field]:
        tagged = [item for item in self.fields if item.tag is not None]
        return sorted(tagged, key=lambda item: item.tag or 0)

    @property
    def size_min(self) -> int:
        """The fewest bytes this struct can take: the bound for claimed array lengths."""
        return sum(size_min(item, self.is_flexible) for item in self.plain_fields) + (
            1 if self.is_flexible else 0
        )

    @property
    def has_records(self) -> bool:
        return any(
            item.shape is Shape.RECORDS or (item.struct is not None and item.struct.has_records)
            for item in self.fields
        )


def size_min(item: Field, is_flexible: bool) -> int:
    """The fewest bytes an untagged field can take."""
    if item.is_array:
        return 1 if is_flexible else 4
    if item.struct is not None:
        return 1 if item.is_nullable else item.struct.size_min
    if item.shape is Shape.FIXED:
        return item.kind.size
    if is_flexible:
        return 1
    return 2 if item.shape is Shape.STRING else 4


def element_size_min(item: Field, is_flexible: bool) -> int:
    """The fewest bytes one element of an array field can take."""
    if item.struct is not None:
        return item.struct.size_min
    if item.shape is Shape.FIXED:
        return item.kind.size
    return 1 if is_flexible else 2


@dataclass(frozen=True)
class Message:
    """All versions of one request, response or stored blob."""

    name: str
    versions: dict[int, Struct]


@dataclass(frozen=True)
class Api:
    """A request and its response, known by one key."""

    key: int
    name: str
    request: Message
    response: Message
    first_flexible_request: int | None
    first_flexible_response: int | None


@dataclass
class ClassDefinition:
    """One Python class: the union of a struct's fields over all versions, in schema order."""

    name: str
    fields: dict[str, Field] = field(default_factory=dict)

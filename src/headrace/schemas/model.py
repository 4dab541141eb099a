"""The nouns of a registry: schema, reference, registered version, compatibility, mode."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

SCHEMA_BYTES_MAX = 100_000
"""Bounds the time of one parse or comparison to some seconds: the Avro library compares records in
quadratic time, and Protobuf's text is parsed at some 20 kB per second."""
REFERENCES_MAX = 100
"""References that one schema may name."""
DEPENDENCIES_MAX = 1_000
"""Schemas that one schema may need, directly or through others."""
COMPARED_LENGTH_MAX = 4_000_000
"""Characters of all earlier versions that one schema is compared with: transitive levels look at
all of them, and whoever waits for the answer holds up every other writer."""
SUBJECTS_MAX = 100_000
VERSIONS_PER_SUBJECT_MAX = 1_000
SUBJECT_LENGTH_MAX = 512
DEFAULT_CONTEXT = ":.:"
"""What may stand before a subject of the default context, the only one that there is."""
ID_MAX = 2**31 - 1


class Kind(Enum):
    """What Confluent calls ``schemaType``."""

    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


class Reference(NamedTuple):
    """``name`` is what the schema's text says; subject and version are where it is found."""

    name: str
    subject: str
    version: int


class Schema(NamedTuple):
    """A schema as a client gives it, or as it is kept."""

    text: str
    kind: Kind = Kind.AVRO
    references: tuple[Reference, ...] = ()


class Dependency(NamedTuple):
    """A schema that another needs, under the name by which it is called."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Registered:
    """One version of a subject."""

    subject: str
    version: int
    id: int
    schema: Schema
    is_deleted: bool = False


class ParsedSchema(Protocol):
    """A schema that was understood."""

    @property
    def canonical(self) -> str:
        """The text that is kept; equal texts are the same schema."""

    @property
    def normalized(self) -> str:
        """As ``canonical``, without differences that mean nothing."""

    def problems_reading(self, writer: ParsedSchema) -> list[str]:
        """Why a reader with this schema cannot read what ``writer`` wrote; empty if it can."""


class Compatibility(Enum):
    """Who must be able to read what, and against how many earlier versions."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def is_transitive(self) -> bool:
        return self.value.endswith("_TRANSITIVE")

    @property
    def is_backward(self) -> bool:
        return self.value.startswith(("BACKWARD", "FULL"))

    @property
    def is_forward(self) -> bool:
        return self.value.startswith(("FORWARD", "FULL"))


class Mode(Enum):
    """What may be changed. IMPORT takes ids and versions from another registry."""

    READWRITE = "READWRITE"
    READONLY = "READONLY"
    IMPORT = "IMPORT"

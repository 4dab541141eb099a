"""A schema together with all schemas that it refers to, directly or through others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.schemas.errors import (
    InvalidSchema,
    SchemaTooLarge,
    SubjectNotFound,
    VersionNotFound,
)
from headrace.schemas.model import (
    DEPENDENCIES_MAX,
    REFERENCES_MAX,
    SCHEMA_BYTES_MAX,
    Dependency,
    Schema,
)

if TYPE_CHECKING:
    from headrace.schemas.model import Kind, ParsedSchema, Reference
    from headrace.schemas.state import RegistryState


def understand(state: RegistryState, schema: Schema) -> ParsedSchema:
    """Parse a schema that is kept, or is about to be."""
    return state.parsed.parse(schema.kind, schema.text, _dependencies(state, schema))


def canonical_form(state: RegistryState, schema: Schema, *, normalize: bool) -> Schema:
    """The schema as it is kept: its text in one form, its references pinned to versions."""
    if not schema.text.strip():
        raise InvalidSchema("Empty schema")
    if len(schema.text.encode(errors="replace")) > SCHEMA_BYTES_MAX:
        raise SchemaTooLarge(f"a schema may have {SCHEMA_BYTES_MAX} bytes")
    if len(schema.references) > REFERENCES_MAX:
        raise InvalidSchema(f"a schema may have {REFERENCES_MAX} references")
    pinned = tuple(_pin(state, reference) for reference in schema.references)
    if normalize:
        pinned = tuple(sorted(set(pinned)))
    schema = schema._replace(references=pinned)
    parsed = understand(state, schema)
    text = parsed.normalized if normalize else parsed.canonical
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidSchema("the schema has characters that are no characters") from error
    return schema._replace(text=text)


def _pin(state: RegistryState, reference: Reference) -> Reference:
    try:
        found = state.version(reference.subject, reference.version)
    except (SubjectNotFound, VersionNotFound) as error:
        raise InvalidSchema(
            f"No schema reference found for subject '{reference.subject}' "
            f"and version {reference.version}"
        ) from error
    return reference._replace(version=found.version)


def _dependencies(state: RegistryState, schema: Schema) -> tuple[Dependency, ...]:
    found: dict[str, Dependency] = {}
    _collect(state, schema.kind, schema.references, found)
    return tuple(found.values())


def _collect(
    state: RegistryState,
    kind: Kind,
    references: tuple[Reference, ...],
    found: dict[str, Dependency],
) -> None:
    """Depth first, so that what is needed comes before what needs it.

    It ends: a schema refers only to schemas that were there before it.
    """
    for reference in references:
        if reference.name in found:
            continue
        needed = state.version(reference.subject, reference.version, deleted=True).schema
        if needed.kind is not kind:
            raise InvalidSchema(f"reference {reference.name!r} is of kind {needed.kind.value}")
        _collect(state, kind, needed.references, found)
        if len(found) >= DEPENDENCIES_MAX:
            raise InvalidSchema(f"a schema may depend on {DEPENDENCIES_MAX} others")
        found[reference.name] = Dependency(reference.name, needed.text)

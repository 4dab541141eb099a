"""Access rules as the metadata log keeps them: each under an id, removed by that id.

The fields of ``AclEntry`` are those of Kafka's AccessControlEntryRecord, in its types.
``AclEntries`` is replayed from the log and hands each change on to the authorizer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.model.errors import InvalidRequest
from headrace.security.acl import (
    AclBinding,
    Operation,
    PatternType,
    Permission,
    Principal,
    ResourceType,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.security.authorizer import Authorizer

ID_BYTES = 16


@dataclass(frozen=True, slots=True)
class AclEntry:
    """One rule as a record has it: plain numbers and text."""

    id: bytes
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


def entry_of(entry_id: bytes, binding: AclBinding) -> AclEntry:
    return AclEntry(
        id=entry_id,
        resource_type=int(binding.resource_type),
        resource_name=binding.resource_name,
        pattern_type=int(binding.pattern_type),
        principal=str(binding.principal),
        host=binding.host,
        operation=int(binding.operation),
        permission_type=int(binding.permission),
    )


def binding_of(entry: AclEntry) -> AclBinding:
    """The rule of a record; InvalidRequest if it has codes that this version does not know."""
    try:
        binding = AclBinding(
            ResourceType(entry.resource_type),
            entry.resource_name,
            PatternType(entry.pattern_type),
            Principal.parse(entry.principal),
            entry.host,
            Operation(entry.operation),
            Permission(entry.permission_type),
        )
    except ValueError as error:
        raise InvalidRequest(f"an access rule has an unknown code: {error}") from error
    binding.raise_if_invalid()
    return binding


class AclEntries:
    """Which id stands for which rule."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._bindings: dict[bytes, AclBinding] = {}
        self._ids: dict[AclBinding, bytes] = {}

    def __len__(self) -> int:
        return len(self._bindings)

    def maybe_id_of(self, binding: AclBinding) -> bytes | None:
        return self._ids.get(binding)

    def replay(self, entry: AclEntry) -> None:
        """A record that adds a rule; InvalidRequest if its id or its rule is there already."""
        binding = binding_of(entry)
        if len(entry.id) != ID_BYTES:
            raise InvalidRequest(f"the id of an access rule has {len(entry.id)} bytes")
        if entry.id in self._bindings or binding in self._ids:
            raise InvalidRequest("the access rule exists already")
        self._authorizer.add(binding)
        self._bindings[entry.id] = binding
        self._ids[binding] = entry.id

    def replay_removal(self, entry_id: bytes) -> None:
        """A record that removes a rule; InvalidRequest if there is none of this id."""
        binding = self._bindings.pop(entry_id, None)
        if binding is None:
            raise InvalidRequest("there is no access rule of this id")
        del self._ids[binding]
        self._authorizer.remove(binding)

    def snapshot(self) -> Iterator[AclEntry]:
        """All rules, as the records that make them again."""
        return (entry_of(entry_id, binding) for entry_id, binding in self._bindings.items())

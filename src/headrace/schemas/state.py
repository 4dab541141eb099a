"""What the registry knows: the outcome of all records of ``_schemas``, in their order.

Only ``replay`` changes it, at start and in operation alike. Everything else looks things up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from headrace.schemas.errors import SchemaNotFound, SubjectNotFound, VersionNotFound
from headrace.schemas.model import Compatibility, Mode, Registered
from headrace.schemas.parsed_schemas import ParsedSchemas
from headrace.schemas.records import (
    CompatibilityRecord,
    DeleteSubjectRecord,
    HighestIdRecord,
    SchemaRecord,
)

if TYPE_CHECKING:
    from headrace.schemas.model import Schema
    from headrace.schemas.records import RegistryRecord

V = TypeVar("V")

LATEST = -1
DEFAULT_COMPATIBILITY = Compatibility.BACKWARD
DEFAULT_MODE = Mode.READWRITE


class RegistryState:
    """Subjects with their versions, ids, levels of compatibility and modes."""

    def __init__(self) -> None:
        self._subjects: dict[str, dict[int, Registered]] = {}
        self._uses: dict[int, dict[tuple[str, int], Schema]] = {}
        self._ids: dict[Schema, int] = {}
        self._referrers: dict[tuple[str, int], set[tuple[str, int]]] = {}
        """By version: the versions whose schemas name it."""
        self.id_highest = 0
        """Ids are not given twice, even if their schemas are gone."""
        self.levels: dict[str | None, Compatibility] = {}
        self.modes: dict[str | None, Mode] = {}
        self.parsed = ParsedSchemas()

    # --- changing -------------------------------------------------------------------------------

    def replay(self, record: RegistryRecord) -> None:
        if isinstance(record, SchemaRecord):
            self._forget(record.subject, record.version)
            if record.registered is not None:
                self._keep(record.registered)
        elif isinstance(record, DeleteSubjectRecord):
            for registered in self.versions(record.subject):
                if registered.version <= record.version:
                    self._keep(_deleted(registered))
        elif isinstance(record, HighestIdRecord):
            self.id_highest = max(self.id_highest, record.id)
        elif isinstance(record, CompatibilityRecord):
            _put(self.levels, record.subject, record.level)
        else:
            _put(self.modes, record.subject, record.mode)

    def _keep(self, registered: Registered) -> None:
        self._subjects.setdefault(registered.subject, {})[registered.version] = registered
        uses = self._uses.setdefault(registered.id, {})
        uses[registered.subject, registered.version] = registered.schema
        self._ids.setdefault(registered.schema, registered.id)
        self.id_highest = max(self.id_highest, registered.id)
        for reference in registered.schema.references:
            users = self._referrers.setdefault((reference.subject, reference.version), set())
            users.add((registered.subject, registered.version))

    def _forget(self, subject: str, version: int) -> None:
        registered = self._subjects.get(subject, {}).pop(version, None)
        if registered is None:
            return
        if not self._subjects[subject]:
            del self._subjects[subject]
        for reference in registered.schema.references:
            self._referrers[reference.subject, reference.version].discard((subject, version))
        uses = self._uses[registered.id]
        del uses[subject, version]
        if not uses:
            del self._uses[registered.id]
            if self._ids.get(registered.schema) == registered.id:
                del self._ids[registered.schema]

    # --- subjects and versions ------------------------------------------------------------------

    @property
    def subject_count(self) -> int:
        return len(self._subjects)

    def subjects(self, *, deleted: bool = False, deleted_only: bool = False) -> list[str]:
        """In order. A subject is deleted if all its versions are."""
        found = []
        for subject, versions in sorted(self._subjects.items()):
            is_live = any(not version.is_deleted for version in versions.values())
            if (not is_live) if deleted_only else (is_live or deleted):
                found.append(subject)
        return found

    def versions(self, subject: str, *, deleted: bool = True) -> list[Registered]:
        """From the oldest to the newest; none if there is no such subject."""
        versions = self._subjects.get(subject, {})
        return [
            versions[number]
            for number in sorted(versions)
            if deleted or not versions[number].is_deleted
        ]

    def version(self, subject: str, version: int, *, deleted: bool = False) -> Registered:
        """One version, or the last one (LATEST)."""
        versions = self.versions(subject, deleted=deleted)
        if not versions:
            raise SubjectNotFound(subject)
        if version == LATEST:
            return versions[-1]
        found = next((v for v in versions if v.version == version), None)
        if found is None:
            raise VersionNotFound(version)
        return found

    def next_version(self, subject: str) -> int:
        return max(self._subjects.get(subject, {}), default=0) + 1

    # --- ids ------------------------------------------------------------------------------------

    def id_of(self, schema: Schema) -> int | None:
        return self._ids.get(schema)

    def schema(self, schema_id: int) -> Schema:
        uses = self._uses.get(schema_id)
        if not uses:
            raise SchemaNotFound(schema_id)
        return next(iter(uses.values()))

    def uses(self, schema_id: int, *, deleted: bool = False) -> list[Registered]:
        """Every version with this id."""
        if schema_id not in self._uses:
            raise SchemaNotFound(schema_id)
        found = [self._subjects[subject][version] for subject, version in self._uses[schema_id]]
        return sorted(
            (r for r in found if deleted or not r.is_deleted), key=lambda r: (r.subject, r.version)
        )

    def referrers(self, subject: str, version: int) -> list[Registered]:
        """Versions, not deleted, whose schema names this one."""
        places = sorted(self._referrers.get((subject, version), ()))
        found = [self._subjects[place[0]][place[1]] for place in places]
        return [registered for registered in found if not registered.is_deleted]

    # --- settings -------------------------------------------------------------------------------

    def level(self, subject: str | None) -> Compatibility:
        """The level in force."""
        return self.levels.get(subject, self.levels.get(None, DEFAULT_COMPATIBILITY))

    def mode(self, subject: str | None) -> Mode:
        """The mode in force."""
        return self.modes.get(subject, self.modes.get(None, DEFAULT_MODE))


def _deleted(registered: Registered) -> Registered:
    return Registered(
        registered.subject, registered.version, registered.id, registered.schema, is_deleted=True
    )


def _put(settings: dict[str | None, V], subject: str | None, value: V | None) -> None:
    if value is None:
        settings.pop(subject, None)
    else:
        settings[subject] = value

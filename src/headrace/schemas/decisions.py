"""Every change of the registry: look at the state, return the records that make the change.

Nothing is changed here. A refusal is an exception, so a refused request leaves no trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import LimitReached
from headrace.schemas.compatibility import incompatibilities
from headrace.schemas.errors import (
    IncompatibleSchema,
    InvalidSubject,
    OperationNotPermitted,
    ReferenceExists,
    SchemaNotFound,
    SubjectCompatibilityNotConfigured,
    SubjectModeNotConfigured,
    SubjectNotFound,
    SubjectNotSoftDeleted,
    SubjectSoftDeleted,
    VersionNotFound,
    VersionNotSoftDeleted,
    VersionSoftDeleted,
)
from headrace.schemas.model import (
    COMPARED_LENGTH_MAX,
    ID_MAX,
    SUBJECT_LENGTH_MAX,
    SUBJECTS_MAX,
    VERSIONS_PER_SUBJECT_MAX,
    Mode,
    Registered,
)
from headrace.schemas.records import (
    CompatibilityRecord,
    DeleteSubjectRecord,
    HighestIdRecord,
    ModeRecord,
    SchemaRecord,
)
from headrace.schemas.resolution import canonical_form, understand
from headrace.schemas.state import LATEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.schemas.model import Compatibility, Schema
    from headrace.schemas.records import RegistryRecord
    from headrace.schemas.state import RegistryState


class Decision(NamedTuple):
    """Records to write, and what to answer once they are written."""

    records: Sequence[RegistryRecord]
    registered: Registered


class Wish(NamedTuple):
    """A schema to register. Id and version are given only when importing."""

    schema: Schema
    normalize: bool = False
    id: int | None = None
    version: int | None = None


def decide_registration(state: RegistryState, subject: str, wish: Wish) -> Decision:
    raise_if_illegal_subject(subject)
    is_import = _raise_if_not_writable(state, subject) is Mode.IMPORT
    if is_import and wish.id is None:
        raise OperationNotPermitted(f"Subject {subject} is in import mode: an id must be given")
    if not is_import and wish.id is not None:
        raise OperationNotPermitted(f"Subject {subject} is not in import mode")
    schema = canonical_form(state, wish.schema, normalize=wish.normalize)
    live = state.versions(subject, deleted=False)
    known = next((r for r in reversed(live) if r.schema == schema), None)
    if known is not None and wish.id in (None, known.id) and wish.version in (None, known.version):
        return Decision((), known)
    _raise_if_full(state, subject)
    if is_import:
        registered = _imported(state, subject, schema, wish)
    else:
        problems = compatibility_problems(state, subject, schema, live)
        if problems:
            raise IncompatibleSchema(problems)
        registered = Registered(
            subject, state.next_version(subject), _id_for(state, schema), schema
        )
    return Decision((SchemaRecord(subject, registered.version, registered),), registered)


def compatibility_problems(
    state: RegistryState, subject: str, schema: Schema, earlier: Sequence[Registered]
) -> list[str]:
    """What stands against ``schema`` after ``earlier``, at the level in force."""
    level = state.level(subject)
    if not level.is_transitive:
        earlier = earlier[-1:]
    if sum(len(registered.schema.text) for registered in earlier) > COMPARED_LENGTH_MAX:
        raise LimitReached(f"{len(earlier)} earlier versions are too long to be compared with")
    parsed = [understand(state, registered.schema) for registered in earlier]
    return incompatibilities(understand(state, schema), parsed, level)


def find_registered(
    state: RegistryState, subject: str, wished: Schema, *, normalize: bool, deleted: bool
) -> Registered:
    """The version of the subject that has this schema."""
    versions = state.versions(subject, deleted=deleted)
    if not versions:
        raise SubjectNotFound(subject)
    schema = canonical_form(state, wished, normalize=normalize)
    found = next((r for r in reversed(versions) if r.schema == schema), None)
    if found is None:
        raise SchemaNotFound
    return found


def decide_version_deletion(
    state: RegistryState, subject: str, version: int, *, permanent: bool
) -> Decision:
    _raise_if_not_writable(state, subject)
    if not state.versions(subject):
        raise SubjectNotFound(subject)
    found = state.version(subject, version, deleted=version != LATEST or permanent)
    if found.is_deleted and not permanent:
        raise VersionSoftDeleted(subject, found.version)
    if permanent and not found.is_deleted:
        raise VersionNotSoftDeleted(subject, found.version)
    _raise_if_referenced(state, found)
    records: list[RegistryRecord] = []
    gone = None if permanent else Registered(subject, found.version, found.id, found.schema, True)
    records.append(SchemaRecord(subject, found.version, gone))
    if permanent:
        records.append(HighestIdRecord(state.id_highest))
    elif len(state.versions(subject, deleted=False)) == 1:
        records += _without_settings(state, subject)
    return Decision(records, found)


def decide_subject_deletion(
    state: RegistryState, subject: str, *, permanent: bool
) -> tuple[list[RegistryRecord], list[int]]:
    """The records, and the numbers of the versions that go."""
    _raise_if_not_writable(state, subject)
    every = state.versions(subject)
    live = state.versions(subject, deleted=False)
    if not every:
        raise SubjectNotFound(subject)
    if permanent and live:
        raise SubjectNotSoftDeleted(subject)
    if not permanent and not live:
        raise SubjectSoftDeleted(subject)
    going = every if permanent else live
    for registered in going:
        _raise_if_referenced(state, registered)
    numbers = [registered.version for registered in going]
    if permanent:
        gone = [SchemaRecord(subject, number, None) for number in numbers]
        return [*gone, HighestIdRecord(state.id_highest)], numbers
    deletion = DeleteSubjectRecord(subject, numbers[-1])
    return [deletion, *_without_settings(state, subject)], numbers


def decide_level(subject: str | None, level: Compatibility) -> list[RegistryRecord]:
    if subject is not None:
        raise_if_illegal_subject(subject)
    return [CompatibilityRecord(subject, level)]


def decide_level_removal(state: RegistryState, subject: str | None) -> list[RegistryRecord]:
    if subject is not None and subject not in state.levels:
        raise SubjectCompatibilityNotConfigured(subject)
    return [CompatibilityRecord(subject, None)]


def decide_mode(
    state: RegistryState, subject: str | None, mode: Mode, *, force: bool
) -> list[RegistryRecord]:
    if subject is not None:
        raise_if_illegal_subject(subject)
    if mode is Mode.IMPORT and state.mode(subject) is not Mode.IMPORT and not force:
        # Ids from elsewhere could contradict those that are given already.
        present = state.subjects() if subject is None else state.versions(subject, deleted=False)
        if present:
            raise OperationNotPermitted("Cannot import since found existing subjects")
    return [ModeRecord(subject, mode)]


def decide_mode_removal(state: RegistryState, subject: str) -> list[RegistryRecord]:
    if subject not in state.modes:
        raise SubjectModeNotConfigured(subject)
    return [ModeRecord(subject, None)]


def raise_if_illegal_subject(subject: str) -> None:
    if not subject.strip() or len(subject) > SUBJECT_LENGTH_MAX or not subject.isprintable():
        raise InvalidSubject(f"The specified subject '{subject[:SUBJECT_LENGTH_MAX]}' is not valid")
    if subject.startswith(":.") or subject.startswith(":*:"):
        raise InvalidSubject(f"contexts are not supported: the subject '{subject}' names one")
    if subject in ("__GLOBAL", "__EMPTY"):
        raise InvalidSubject(f"The specified subject '{subject}' is reserved")


def _raise_if_not_writable(state: RegistryState, subject: str) -> Mode:
    mode = state.mode(subject)
    if mode is Mode.READONLY:
        raise OperationNotPermitted(f"Subject {subject} is in read-only mode")
    return mode


def _raise_if_full(state: RegistryState, subject: str) -> None:
    versions = len(state.versions(subject))
    if versions >= VERSIONS_PER_SUBJECT_MAX:
        raise LimitReached(f"a subject may have {VERSIONS_PER_SUBJECT_MAX} versions")
    if not versions and state.subject_count >= SUBJECTS_MAX:
        raise LimitReached(f"there may be {SUBJECTS_MAX} subjects")


def _raise_if_referenced(state: RegistryState, registered: Registered) -> None:
    if state.referrers(registered.subject, registered.version):
        raise ReferenceExists(
            "One or more references exist to the schema {magic=1,keytype=SCHEMA,subject="
            f"{registered.subject},version={registered.version}}}."
        )


def _without_settings(state: RegistryState, subject: str) -> list[RegistryRecord]:
    records: list[RegistryRecord] = []
    if subject in state.levels:
        records.append(CompatibilityRecord(subject, None))
    if subject in state.modes:
        records.append(ModeRecord(subject, None))
    return records


def _id_for(state: RegistryState, schema: Schema) -> int:
    known = state.id_of(schema)
    if known is None and state.id_highest >= ID_MAX:
        raise LimitReached(f"all ids up to {ID_MAX} are given")
    return state.id_highest + 1 if known is None else known


def _imported(state: RegistryState, subject: str, schema: Schema, wish: Wish) -> Registered:
    assert wish.id is not None
    try:
        same = state.schema(wish.id) == schema
    except SchemaNotFound:
        same = True
    version = wish.version or state.next_version(subject)
    try:
        taken = state.version(subject, version, deleted=True)
        same = same and taken.schema == schema and taken.id == wish.id
    except (SubjectNotFound, VersionNotFound):
        taken = None
    if not same:
        raise OperationNotPermitted(
            f"Overwrite new schema with id {wish.id} is not permitted: the id or version is taken"
        )
    return Registered(subject, version, wish.id, schema)

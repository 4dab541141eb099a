"""Registering, deleting, importing: decided on the state, changed only by replay."""

from __future__ import annotations

import pytest

from headrace.model.errors import LimitReached
from headrace.schemas import decisions
from headrace.schemas.decisions import Wish
from headrace.schemas.errors import (
    IncompatibleSchema,
    InvalidSchema,
    InvalidSubject,
    OperationNotPermitted,
    ReferenceExists,
    SchemaNotFound,
    SchemaTooLarge,
    SubjectNotSoftDeleted,
    SubjectSoftDeleted,
    VersionNotSoftDeleted,
    VersionSoftDeleted,
)
from headrace.schemas.model import (
    REFERENCES_MAX,
    SCHEMA_BYTES_MAX,
    Compatibility,
    Kind,
    Mode,
    Reference,
    Schema,
)
from headrace.schemas.state import LATEST, RegistryState

INT, LONG, TEXT = Schema('"int"'), Schema('"long"'), Schema('"string"')


class Bench:
    """A state, and the verbs that change it."""

    def __init__(self) -> None:
        self.state = RegistryState()

    def apply(self, records: object) -> None:
        for record in records:  # type: ignore[attr-defined]
            self.state.replay(record)

    def register(self, subject: str, schema: Schema, **more: int) -> tuple[int, int]:
        decision = decisions.decide_registration(self.state, subject, Wish(schema, **more))
        self.apply(decision.records)
        return decision.registered.id, decision.registered.version

    def delete(self, subject: str, version: int, *, permanent: bool = False) -> None:
        decision = decisions.decide_version_deletion(
            self.state, subject, version, permanent=permanent
        )
        self.apply(decision.records)

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        records, numbers = decisions.decide_subject_deletion(
            self.state, subject, permanent=permanent
        )
        self.apply(records)
        return numbers


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_same_schema_has_the_same_id_everywhere(bench: Bench) -> None:
    assert bench.register("a", INT) == (1, 1)
    assert bench.register("a", Schema(' "int" ')) == (1, 1)
    assert bench.register("b", INT) == (1, 1)
    assert bench.register("a", LONG) == (2, 2)
    assert [use.subject for use in bench.state.uses(1)] == ["a", "b"]


def test_incompatible_schema_is_refused(bench: Bench) -> None:
    bench.register("a", INT)
    with pytest.raises(IncompatibleSchema):
        bench.register("a", TEXT)
    bench.apply(decisions.decide_level("a", Compatibility.NONE))
    assert bench.register("a", TEXT) == (2, 2)


@pytest.mark.parametrize(
    ("subject", "schema", "error"),
    [
        ("", INT, InvalidSubject),
        ("a\n", INT, InvalidSubject),
        ("a" * 513, INT, InvalidSubject),
        ("a", Schema(" "), InvalidSchema),
        ("a", Schema("{"), InvalidSchema),
        ("a", Schema('"' + "x" * SCHEMA_BYTES_MAX), SchemaTooLarge),
        ("a", Schema('"\\ud800"', Kind.JSON), InvalidSchema),
        ("a", Schema('"int"', Kind.AVRO, (Reference("x", "missing", 1),)), InvalidSchema),
        ("a", INT._replace(references=(Reference("x", "o", 1),) * 101), InvalidSchema),
    ],
)
def test_bad_input(bench: Bench, subject: str, schema: Schema, error: type[Exception]) -> None:
    with pytest.raises(error):
        bench.register(subject, schema)
    assert bench.state.subject_count == 0
    assert REFERENCES_MAX == 100


def test_version_is_deleted_softly_then_for_good(bench: Bench) -> None:
    bench.register("a", INT)
    bench.register("a", LONG)
    with pytest.raises(VersionNotSoftDeleted):
        bench.delete("a", 2, permanent=True)
    bench.delete("a", LATEST)
    with pytest.raises(VersionSoftDeleted):
        bench.delete("a", 2)
    assert [r.version for r in bench.state.versions("a", deleted=False)] == [1]
    assert bench.state.schema(2) == LONG
    bench.delete("a", 2, permanent=True)
    with pytest.raises(SchemaNotFound):
        bench.state.schema(2)
    assert bench.register("a", LONG) == (3, 2)


def test_subject_is_deleted_softly_then_for_good(bench: Bench) -> None:
    bench.register("a", INT)
    bench.apply(decisions.decide_level("a", Compatibility.FULL))
    with pytest.raises(SubjectNotSoftDeleted):
        bench.delete_subject("a", permanent=True)
    assert bench.delete_subject("a") == [1]
    assert bench.state.levels == {}
    with pytest.raises(SubjectSoftDeleted):
        bench.delete_subject("a")
    assert bench.register("a", TEXT) == (2, 2)
    bench.delete_subject("a")
    assert bench.delete_subject("a", permanent=True) == [1, 2]
    assert bench.state.subjects(deleted=True) == []


def test_what_is_referred_to_is_not_deleted(bench: Bench) -> None:
    bench.register("inner", Schema('{"type":"record","name":"I","fields":[]}'))
    user = Schema('{"type":"array","items":"I"}', Kind.AVRO, (Reference("I", "inner", LATEST),))
    bench.register("outer", user)
    assert bench.state.version("outer", 1).schema.references[0].version == 1
    with pytest.raises(ReferenceExists):
        bench.delete("inner", 1)
    with pytest.raises(ReferenceExists):
        bench.delete_subject("inner")
    bench.delete("outer", 1)
    bench.delete("inner", 1)


def test_reference_of_another_kind_is_refused(bench: Bench) -> None:
    bench.register("inner", Schema("{}", Kind.JSON))
    with pytest.raises(InvalidSchema, match="of kind JSON"):
        bench.register("a", Schema('"int"', Kind.AVRO, (Reference("I", "inner", 1),)))


def test_read_only_subject_takes_nothing(bench: Bench) -> None:
    bench.register("a", INT)
    bench.apply(decisions.decide_mode(bench.state, None, Mode.READONLY, force=False))
    for refused in (
        lambda: bench.register("b", INT),
        lambda: bench.delete("a", 1),
        lambda: bench.delete_subject("a"),
    ):
        with pytest.raises(OperationNotPermitted):
            refused()


def test_import_takes_ids_and_versions_once(bench: Bench) -> None:
    with pytest.raises(OperationNotPermitted):
        bench.register("a", INT, id=7)
    bench.apply(decisions.decide_mode(bench.state, None, Mode.IMPORT, force=False))
    assert bench.register("a", INT, id=7, version=3) == (7, 3)
    assert bench.register("a", TEXT, id=9) == (9, 4)
    for more in ({}, {"id": 7}, {"id": 10, "version": 3}):
        with pytest.raises(OperationNotPermitted):
            bench.register("a", LONG, **more)
    bench.apply(decisions.decide_mode(bench.state, None, Mode.READWRITE, force=False))
    with pytest.raises(OperationNotPermitted):
        decisions.decide_mode(bench.state, None, Mode.IMPORT, force=False)
    assert decisions.decide_mode(bench.state, None, Mode.IMPORT, force=True)
    assert bench.register("b", LONG) == (10, 1)


def test_ids_that_went_for_good_are_not_given_again(bench: Bench) -> None:
    """Not even by a registry that finds nothing but what compaction left."""
    bench.register("a", INT)
    bench.register("b", TEXT)
    bench.delete_subject("b")
    records, _ = decisions.decide_subject_deletion(bench.state, "b", permanent=True)
    compacted = Bench()
    compacted.register("a", INT)
    compacted.apply(records)
    assert compacted.register("b", LONG) == (3, 1)


def test_versions_to_compare_with_have_a_limit(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.register("a", INT)
    bench.register("a", LONG)
    monkeypatch.setattr(decisions, "COMPARED_LENGTH_MAX", len(LONG.text))
    bench.register("a", Schema('"float"'))
    bench.apply(decisions.decide_level("a", Compatibility.BACKWARD_TRANSITIVE))
    with pytest.raises(LimitReached):
        bench.register("a", Schema('"double"'))


def test_limits(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "SUBJECTS_MAX", 1)
    monkeypatch.setattr(decisions, "VERSIONS_PER_SUBJECT_MAX", 1)
    bench.register("a", INT)
    for subject in ("a", "b"):
        with pytest.raises(LimitReached):
            bench.register(subject, LONG)

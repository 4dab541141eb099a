"""The registry in its topic: written, read back, never half written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.broker import schema_store
from headrace.broker.schema_store import SCHEMAS_TOPIC, TOPIC_SETTINGS, SchemaStore
from headrace.model.errors import CorruptRecord, PolicyViolation, RecordTooLarge, StorageFailure
from headrace.records.build import build_batch
from headrace.records.decode import decode_records
from headrace.records.header import stamp_crc
from headrace.schemas.errors import RegistryLoading
from headrace.schemas.model import Compatibility, Registered, Schema
from headrace.schemas.records import (
    CompatibilityRecord,
    DeleteSubjectRecord,
    HighestIdRecord,
    RegistryRecord,
    SchemaRecord,
)
from headrace.testing.metadata_bench import MetadataBench

if TYPE_CHECKING:
    from collections.abc import Callable


def opened(bench: MetadataBench) -> SchemaStore:
    store = SchemaStore(
        bench.store, bench.topics, bench.changes, bench.logs, bench.clock, bench.background
    )
    store.start()
    return store


def version(number: int, text: str = '"int"') -> SchemaRecord:
    return SchemaRecord("s", number, Registered("s", number, number, Schema(text)))


def commit(bench: MetadataBench, store: SchemaStore, *records: RegistryRecord) -> None:
    outcomes: list[BaseException | None] = []
    store.commit(records, outcomes.append)
    bench.settle()
    assert outcomes == [None]


@pytest.mark.parametrize("end", ["clean", "kill", "power loss"])
def test_state_is_the_same_after_a_restart(end: str) -> None:
    bench = MetadataBench()
    store = opened(bench)
    assert bench.topics.get(SCHEMAS_TOPIC) is None
    commit(bench, store, version(1))
    full = CompatibilityRecord(None, Compatibility.FULL)
    commit(bench, store, DeleteSubjectRecord("s", 1), full)
    commit(bench, store, version(2, '"long"'))
    topic = bench.topics.get(SCHEMAS_TOPIC)
    assert topic is not None
    assert topic.overrides == TOPIC_SETTINGS
    assert len(topic.partitions) == 1
    bench.restart(clean=end == "clean", power_loss=end == "power loss")
    again = opened(bench)
    assert again.state.versions("s") == store.state.versions("s")
    assert [r.version for r in again.state.versions("s", deleted=False)] == [2]
    assert again.state.level("any") is Compatibility.FULL


def test_nobody_sees_a_change_before_it_is_safe() -> None:
    bench = MetadataBench()
    store = opened(bench)
    outcomes: list[BaseException | None] = []
    store.commit([version(1)], outcomes.append)
    assert (outcomes, store.state.subject_count) == ([], 0)
    bench.settle()
    assert (outcomes, store.state.subject_count) == ([None], 1)


def test_nothing_to_write_makes_no_topic() -> None:
    bench = MetadataBench()
    commit(bench, opened(bench))
    assert bench.topics.get(SCHEMAS_TOPIC) is None


def test_record_that_does_not_fit_changes_nothing() -> None:
    bench = MetadataBench()
    store = opened(bench)
    commit(bench, store, version(1))
    with pytest.raises(RecordTooLarge):
        store.commit([version(2, "x" * 2_000_000)], lambda error: None)
    assert [r.version for r in store.state.versions("s")] == [1]


def test_topic_that_would_forget_schemas_is_refused() -> None:
    bench = MetadataBench()
    bench.create(SCHEMAS_TOPIC)
    store = opened(bench)
    with pytest.raises(PolicyViolation, match=r"cleanup\.policy=compact"):
        store.commit([version(1)], lambda error: None)
    assert store.state.subject_count == 0


def test_foreign_and_damaged_records_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    bench = MetadataBench()
    store = opened(bench)
    commit(bench, store, version(1))
    topic = bench.topics.get(SCHEMAS_TOPIC)
    assert topic is not None
    foreign = [(b'{"keytype":"NOOP","magic":0}', None), (b"{", b"")]
    bench.logs.append([(topic.partitions[0].log, build_batch(foreign, timestamp_ms=1))])
    bench.restart()
    again = opened(bench)
    assert again.damaged_records == 1
    assert "left out" in caplog.text
    assert again.state.versions("s") == store.state.versions("s")


def test_long_topic_is_read_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = MetadataBench()
    store = opened(bench)
    for number in range(1, 6):
        commit(bench, store, version(number))
    bench.restart()
    monkeypatch.setattr(schema_store, "LOADED_BEFORE_SERVING_BYTES_MAX", 1)
    monkeypatch.setattr(schema_store, "SLICE_BYTES", 1)
    waits: list[float] = []
    call_later = bench.background.call_later

    def counted(delay_seconds: float, callback: Callable[[], None]) -> Any:
        waits.append(delay_seconds)
        return call_later(delay_seconds, callback)

    monkeypatch.setattr(bench.background, "call_later", counted)
    again = opened(bench)
    assert again.is_loading
    with pytest.raises(RegistryLoading):
        _ = again.state
    with pytest.raises(RegistryLoading):
        again.commit([version(9)], lambda error: None)
    bench.background.advance(0)
    assert waits == [0] * 5
    assert [r.version for r in again.state.versions("s")] == [1, 2, 3, 4, 5]


def test_reading_ends_with_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = MetadataBench()
    store = opened(bench)
    commit(bench, store, version(1))
    bench.restart()
    monkeypatch.setattr(schema_store, "LOADED_BEFORE_SERVING_BYTES_MAX", 1)
    again = opened(bench)
    before = bench.background.timers
    again.close()
    assert bench.background.timers == before - 1


def test_batch_that_makes_no_sense_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """As any client can write it that may write to the topic: storage does not look into it."""
    bench = MetadataBench()
    store = opened(bench)
    commit(bench, store, version(1))
    topic = bench.topics.get(SCHEMAS_TOPIC)
    assert topic is not None
    senseless = build_batch([(b"key", b"value")], timestamp_ms=1)
    senseless[-1] = 0x7E  # so many headers, of which there is none
    stamp_crc(senseless, 0, len(senseless))
    bench.logs.append([(topic.partitions[0].log, senseless)])
    commit(bench, store, version(2, '"long"'))
    bench.restart()
    again = opened(bench)
    assert again.damaged_records == 1
    assert "_schemas-0: left out a batch" in caplog.text
    assert again.state.versions("s") == store.state.versions("s")


def test_unreadable_topic_serves_nothing_rather_than_ids_twice(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bench = MetadataBench()
    commit(bench, opened(bench), version(1))
    bench.restart()

    def refuse(batch: bytes, partition: object) -> None:
        raise CorruptRecord("a bad batch")

    monkeypatch.setattr(schema_store, "maybe_records", refuse)
    again = opened(bench)
    with pytest.raises(StorageFailure, match="a bad batch"):
        _ = again.state
    assert "no schema is served" in caplog.text


def test_deleted_topic_empties_the_registry() -> None:
    bench = MetadataBench()
    store = opened(bench)
    commit(bench, store, version(1))
    bench.changes.delete(SCHEMAS_TOPIC)
    assert store.state.subject_count == 0
    commit(bench, store, version(1))
    assert store.state.subject_count == 1


def test_highest_id_is_remembered_when_its_schema_is_gone() -> None:
    bench = MetadataBench()
    store = opened(bench)
    commit(bench, store, HighestIdRecord(7))
    bench.restart()
    assert opened(bench).state.id_highest == 7


def test_record_that_another_registry_spelt_differently_is_deleted_with_ours() -> None:
    """Compaction would keep it, and the schema would come back once our marker is gone."""
    bench = MetadataBench()
    store = opened(bench)
    commit(bench, store, CompatibilityRecord(None, Compatibility.FULL))
    topic = bench.topics.get(SCHEMAS_TOPIC)
    assert topic is not None
    log = topic.partitions[0].log
    spelling = b'{"subject":"s","version":1,"magic":1,"keytype":"SCHEMA"}'
    foreign = [(spelling, b'{"subject":"s","version":1,"id":1,"schema":"\\"int\\""}')]
    bench.logs.append([(log, build_batch(foreign, timestamp_ms=1))])
    bench.restart()
    again = opened(bench)
    assert [r.id for r in again.state.versions("s")] == [1]
    commit(bench, again, SchemaRecord("s", 1, None))
    kept = {
        record.key: record.value
        for batch in bench.logs.get(log.partition).records_from()
        for record in decode_records(batch)
    }
    assert kept[spelling] is None

"""The registry in its topic: written, read back, never half written."""

from __future__ import annotations

import pytest

from headrace.broker.schema_store import SCHEMAS_TOPIC, SchemaStore
from headrace.model.errors import RecordTooLarge
from headrace.records.build import build_batch
from headrace.schemas.model import Compatibility, Registered, Schema
from headrace.schemas.records import CompatibilityRecord, DeleteSubjectRecord, SchemaRecord
from headrace.testing.metadata_bench import MetadataBench


def opened(bench: MetadataBench) -> SchemaStore:
    store = SchemaStore(bench.topics, bench.changes, bench.logs, bench.clock)
    store.start()
    return store


def version(number: int, text: str = '"int"') -> SchemaRecord:
    return SchemaRecord("s", number, Registered("s", number, number, Schema(text)))


@pytest.mark.parametrize("clean", [True, False])
def test_state_is_the_same_after_a_restart(clean: bool) -> None:
    bench = MetadataBench()
    store = opened(bench)
    assert bench.topics.get(SCHEMAS_TOPIC) is None
    store.commit([version(1)])
    store.commit([DeleteSubjectRecord("s", 1), CompatibilityRecord(None, Compatibility.FULL)])
    store.commit([version(2, '"long"')])
    topic = bench.topics.get(SCHEMAS_TOPIC)
    assert topic is not None
    assert topic.overrides == {"cleanup.policy": "compact"}
    bench.restart(clean=clean)
    again = opened(bench)
    assert again.state.versions("s") == store.state.versions("s")
    assert [r.version for r in again.state.versions("s", deleted=False)] == [2]
    assert again.state.level("any") is Compatibility.FULL


def test_nothing_to_write_makes_no_topic() -> None:
    bench = MetadataBench()
    assert opened(bench).commit([]) == 0
    assert bench.topics.get(SCHEMAS_TOPIC) is None


def test_record_that_does_not_fit_changes_nothing() -> None:
    bench = MetadataBench()
    store = opened(bench)
    store.commit([version(1)])
    with pytest.raises(RecordTooLarge):
        store.commit([version(2, "x" * 2_000_000)])
    assert [r.version for r in store.state.versions("s")] == [1]


def test_foreign_and_damaged_records_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    bench = MetadataBench()
    store = opened(bench)
    store.commit([version(1)])
    topic = bench.topics.get(SCHEMAS_TOPIC)
    assert topic is not None
    foreign = [(b'{"keytype":"NOOP","magic":0}', None), (b"{", b"")]
    bench.logs.append([(topic.partitions[0].log, build_batch(foreign, timestamp_ms=1))])
    bench.restart()
    again = opened(bench)
    assert again.damaged_records == 1
    assert "left out" in caplog.text
    assert again.state.versions("s") == store.state.versions("s")


def test_deleted_topic_empties_the_registry() -> None:
    bench = MetadataBench()
    store = opened(bench)
    store.commit([version(1)])
    bench.changes.delete(SCHEMAS_TOPIC)
    assert store.state.subject_count == 0
    store.commit([version(1)])
    assert store.state.subject_count == 1

"""The writers without Spark: tasks and driver are played by the test."""

from __future__ import annotations

import pickle
import uuid
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, StructField, StructType

from headrace.model.errors import InternalError
from headrace.pipeline.sink import make_stream_writer, make_writer, writers
from headrace.pipeline.sink.errors import InvalidSinkOption, InvalidSinkSchema
from headrace.pipeline.sink.writers import BATCH_ID, QUERY_ID, StagedMessage

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.pipeline.sink.staging import StagedPiece

VALUE = StructType([StructField("value", BinaryType())])
QUERY = "11111111-2222-3333-4444-555555555555"
IN_FILES = {"headrace.staging.inline.bytes": "0"}


class Call(NamedTuple):
    sink_id: str
    query_id: str
    rows: list[int]
    batch_id: int


class Written:
    """What the transaction was asked to write."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.failure: Exception | None = None

    def write_next(
        self, kafka: dict[str, str], query_id: str, pieces: list[StagedPiece], batch_id: int
    ) -> bool:
        return self._write(query_id, query_id, pieces, batch_id)

    def open(
        self, kafka: dict[str, str], sink_id: str, query_id: str, *, is_repeatable: bool
    ) -> SimpleNamespace:
        """A sink that batch jobs write to; those with a name can come again."""
        assert is_repeatable is (sink_id == "nightly")
        return SimpleNamespace(write=partial(self._write, sink_id, query_id))

    def _write(self, sink_id: str, query_id: str, pieces: list[StagedPiece], batch_id: int) -> bool:
        if self.failure is not None:
            raise self.failure
        self.calls.append(Call(sink_id, query_id, [piece.rows for piece in pieces], batch_id))
        return True


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Written:
    found = Written()
    monkeypatch.setattr(writers, "write_next", found.write_next)
    monkeypatch.setattr(writers, "TransactionalSink", found.open)
    return found


def in_batch(monkeypatch: pytest.MonkeyPatch, batch_id: int, query: str | None = QUERY) -> None:
    """From now on, tasks belong to this batch."""
    properties = {QUERY_ID: query, BATCH_ID: str(batch_id)}
    context = SimpleNamespace(getLocalProperty=properties.get)
    monkeypatch.setattr(writers, "TaskContext", SimpleNamespace(get=lambda: context))


def options(tmp_path: Path, **more: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": "localhost:1",
        "topic": "t",
        "checkpointlocation": str(tmp_path),
        **more,
    }


def rows(count: int) -> pa.RecordBatch:
    return pa.record_batch({"value": pa.array([b"x"] * count, pa.binary())})


def staged_files(tmp_path: Path) -> list[str]:
    return sorted(str(path.relative_to(tmp_path).parent) for path in tmp_path.rglob("*.arrow"))


def test_a_batch_is_written_under_the_id_of_its_query(
    tmp_path: Path, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = make_stream_writer(options(tmp_path, **IN_FILES), VALUE, False)
    in_batch(monkeypatch, 7)
    messages = [pickle.loads(pickle.dumps(writer.write(iter([rows(n)])))) for n in (2, 3)]
    assert staged_files(tmp_path) == [f"headrace-staging/{QUERY}/7"] * 2
    make_stream_writer(options(tmp_path), VALUE, False).commit(messages, 7)
    assert written.calls == [(QUERY, QUERY, [2, 3], 7)]
    assert staged_files(tmp_path) == []


def test_what_failed_attempts_left_goes_with_the_batch(
    tmp_path: Path, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = make_stream_writer(options(tmp_path, **IN_FILES), VALUE, False)
    in_batch(monkeypatch, 7)
    writer.write(iter([rows(2)]))
    message = writer.write(iter([rows(2)]))
    in_batch(monkeypatch, 8)
    next_message = writer.write(iter([rows(1)]))
    writer.commit([message], 7)
    assert staged_files(tmp_path) == [f"headrace-staging/{QUERY}/8"]
    writer.commit([next_message], 8)
    assert written.calls == [(QUERY, QUERY, [2], 7), (QUERY, QUERY, [1], 8)]


def test_staged_rows_outlive_a_failed_commit(
    tmp_path: Path, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = make_stream_writer(options(tmp_path, **IN_FILES), VALUE, False)
    in_batch(monkeypatch, 0)
    message = writer.write(iter([rows(1)]))
    written.failure = InternalError("no")
    with pytest.raises(InternalError):
        writer.commit([message], 0)
    assert len(staged_files(tmp_path)) == 1
    writer.abort([message, None], 0)
    assert staged_files(tmp_path) == []


def test_a_batch_without_rows_needs_no_transaction(
    tmp_path: Path, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = make_stream_writer(options(tmp_path), VALUE, False)
    in_batch(monkeypatch, 0)
    writer.commit([writer.write(iter([])), None], 0)
    writer.commit([], 1)
    assert written.calls == []


def test_rows_without_a_query_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_batch(monkeypatch, 0, query=None)
    with pytest.raises(InternalError, match=r"sql\.streaming\.queryId"):
        make_stream_writer(options(tmp_path), VALUE, False).write(iter([rows(1)]))


def test_rows_of_two_queries_are_never_one_batch(
    tmp_path: Path, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = make_stream_writer(options(tmp_path), VALUE, False)
    in_batch(monkeypatch, 0)
    first = writer.write(iter([rows(1)]))
    in_batch(monkeypatch, 0, query="another")
    with pytest.raises(InternalError, match="several queries"):
        writer.commit([first, writer.write(iter([rows(1)]))], 0)


def test_at_least_once_sends_from_the_task(
    tmp_path: Path, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []

    def send(batches: list[pa.RecordBatch], topic: str, kafka: object) -> None:
        sent.append(sum(batch.num_rows for batch in batches))

    monkeypatch.setattr(writers, "send", send)
    loose = options(tmp_path, **{"headrace.delivery": "at-least-once"})
    stream, batch = make_stream_writer(loose, VALUE, False), make_writer(loose, VALUE, False)
    messages = [stream.write(iter([rows(2)])), batch.write(iter([rows(3)]))]
    stream.commit(messages[:1], 0)
    batch.commit(messages[1:])
    stream.abort([None], 1)
    batch.abort([None])
    assert sent == [2, 3]
    assert not any(isinstance(message, StagedMessage) for message in messages)
    assert written.calls == []


def test_a_batch_job_is_one_transaction_of_its_own(tmp_path: Path, written: Written) -> None:
    strict = options(tmp_path, **IN_FILES, **{"headrace.delivery": "exactly-once"})
    writer = make_writer(strict, VALUE, False)
    in_task = pickle.loads(pickle.dumps(writer))
    writer.commit([in_task.write(iter([rows(2)]))])
    (call,) = written.calls
    assert uuid.UUID(call.sink_id)
    assert (call.query_id, call.rows, call.batch_id) == ("", [2], 0)
    assert staged_files(tmp_path) == []


def test_a_batch_job_with_an_identity(tmp_path: Path, written: Written) -> None:
    named = {"headrace.sink.id": "nightly", "headrace.batch.id": "3"}
    strict = options(tmp_path, **named, **{"headrace.delivery": "exactly-once"})
    writer = make_writer(strict, VALUE, False)
    writer.commit([writer.write(iter([rows(2)]))])
    assert written.calls == [("nightly", "", [2], 3)]


def test_a_batch_job_inside_of_a_query_says_which(
    tmp_path: Path, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = {"headrace.sink.id": "nightly", "headrace.batch.id": "3"}
    strict = options(tmp_path, **named, **{"headrace.delivery": "exactly-once"})
    writer = make_writer(strict, VALUE, False)
    in_batch(monkeypatch, 3)
    writer.commit([writer.write(iter([rows(2)]))])
    assert written.calls == [("nightly", QUERY, [2], 3)]


def test_an_aborted_batch_job_leaves_nothing(tmp_path: Path, written: Written) -> None:
    strict = options(tmp_path, **IN_FILES, **{"headrace.delivery": "exactly-once"})
    writer = make_writer(strict, VALUE, False)
    writer.write(iter([rows(2)]))
    writer.abort([None])
    assert staged_files(tmp_path) == []
    assert written.calls == []


def test_what_cannot_work_is_refused_before_any_task_runs(tmp_path: Path) -> None:
    with pytest.raises(InvalidSinkOption, match="cannot be overwritten"):
        make_writer(options(tmp_path), VALUE, True)
    with pytest.raises(InvalidSinkSchema):
        make_writer(options(tmp_path), StructType([]), False)
    with pytest.raises(InvalidSinkSchema):
        make_stream_writer(options(tmp_path), StructType([]), False)
    named = {"headrace.sink.id": "a", "headrace.batch.id": "3"}
    with pytest.raises(InvalidSinkOption, match="a query has its own"):
        make_stream_writer(options(tmp_path, **named), VALUE, False)


def test_complete_mode_is_appended(tmp_path: Path) -> None:
    assert make_stream_writer(options(tmp_path), VALUE, True) is not None

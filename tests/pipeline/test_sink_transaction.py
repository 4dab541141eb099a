"""Transactions of the sink on a real broker, interrupted at every step. Without Spark."""

from __future__ import annotations

import itertools
import socket
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from confluent_kafka import KafkaException

from headrace.model.errors import RecordTooLarge
from headrace.model.topic import TopicPartition
from headrace.pipeline.broker_view import BrokerView
from headrace.pipeline.errors import BrokerUnreachable, TopicMissing, UnusableClientOption
from headrace.pipeline.sink import transaction
from headrace.pipeline.sink.direct import send
from headrace.pipeline.sink.errors import (
    InvalidSinkRow,
    SinkAheadOfCheckpoint,
    SinkFenced,
    SinkOfAnotherQuery,
    StagedRowsMissing,
)
from headrace.pipeline.sink.ledger import Ledger, LedgerEntry
from headrace.pipeline.sink.producing import flush
from headrace.pipeline.sink.staging import StagedPiece, stage
from headrace.pipeline.sink.transaction import TransactionalSink, write_next
from headrace.testing import Broker
from tests.interop.deadline import wait_until

from .committed import committed, values

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_names = itertools.count()
WAIT_SECONDS = 30.0
STEPS = ("_send", "_record", "_commit")


class Output:
    """A topic of its own, and a sink of its own to write it with."""

    def __init__(self, bootstrap: str, topic: str, **kafka: str) -> None:
        self.bootstrap = bootstrap
        self.topic = topic
        self.sink_id = f"sink-of-{topic}"
        settings = {name.replace("_", "."): value for name, value in kafka.items()}
        self.kafka = {"bootstrap.servers": bootstrap, **settings}

    def open(self) -> TransactionalSink:
        return TransactionalSink(self.kafka, self.sink_id, self.sink_id)

    def piece(self, *rows: bytes | None, partition: int | None = None) -> StagedPiece:
        batch = pa.record_batch(
            {
                "value": pa.array(rows, pa.binary()),
                "partition": pa.array([partition] * len(rows), pa.int32()),
            }
        )
        return stage([batch], self.topic, "", 1_000_000)

    def values(self) -> list[bytes | None]:
        return values(self.bootstrap, self.topic)


def new_output(broker: Broker, **kafka: str) -> Output:
    topic = broker.create_topic(f"transaction-{next(_names)}", 3)
    return Output(broker.bootstrap_servers, topic, **kafka)


@pytest.fixture
def output(broker: Broker) -> Output:
    return new_output(broker)


def after(sink: TransactionalSink, step: str, happens: Callable[[], object]) -> None:
    """Let something happen when the sink has done this step."""
    done = getattr(sink, step)

    def do(*arguments: Any) -> None:
        done(*arguments)
        happens()

    setattr(sink, step, do)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


def die() -> None:
    raise KeyboardInterrupt


def test_a_batch_is_written_once(output: Output) -> None:
    pieces = [output.piece(b"a", b"b"), output.piece(b"c")]
    assert output.open().write(pieces, 0) is True
    assert output.open().write(pieces, 0) is False
    assert output.open().write([output.piece(b"d")], 1) is True
    assert output.values() == [b"a", b"b", b"c", b"d"]


def test_an_open_sink_knows_what_it_has_written(output: Output) -> None:
    for _ in range(2):
        write_next(output.kafka, output.sink_id, [output.piece(b"a")], 5)
    write_next(output.kafka, output.sink_id, [output.piece(b"b")], 6)
    assert output.values() == [b"a", b"b"]


def test_processes_that_take_turns_do_not_shut_each_other_out(
    output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Spark's do when several queries have kept several of them busy."""
    processes: list[dict[Any, TransactionalSink]] = [{}, {}]
    for batch_id in range(6):
        monkeypatch.setattr(transaction, "_open_sinks", processes[batch_id % 2])
        write_next(output.kafka, output.sink_id, [output.piece(b"%d" % batch_id)], batch_id)
    assert output.values() == [b"0", b"1", b"2", b"3", b"4", b"5"]


def test_null_is_a_tombstone_and_partitions_are_kept(output: Output) -> None:
    output.open().write([output.piece(None, b"x", partition=2)], 0)
    found = committed(output.bootstrap, output.topic)
    assert [(m.partition(), m.value()) for m in found] == [(2, None), (2, b"x")]


def test_more_rows_than_the_client_holds(broker: Broker) -> None:
    output = new_output(broker, queue_buffering_max_messages="100")
    rows = [b"%04d" % number for number in range(1_000)]
    output.open().write([output.piece(*rows)], 0)
    assert output.values() == rows


@pytest.mark.parametrize("step", STEPS)
def test_a_run_that_dies_before_a_step_leaves_nothing(
    output: Output, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = output.open()
    monkeypatch.setattr(dying, step, lambda *_: die())
    with pytest.raises(KeyboardInterrupt):
        dying.write([output.piece(b"a")], 0)
    assert output.values() == []
    assert output.open().write([output.piece(b"a")], 0) is True
    assert output.values() == [b"a"]


def test_a_run_that_dies_right_after_its_commit_is_not_repeated(output: Output) -> None:
    dying = output.open()
    after(dying, "_commit", die)
    with pytest.raises(KeyboardInterrupt):
        dying.write([output.piece(b"a")], 0)
    assert output.open().write([output.piece(b"another order of a")], 0) is False
    assert output.values() == [b"a"]


@pytest.mark.parametrize("step", STEPS)
def test_a_broker_that_restarts_in_the_middle_of_a_batch(tmp_path: Path, step: str) -> None:
    listener = f"kafka://127.0.0.1:{free_port()}"
    with Broker(directory=str(tmp_path), listeners=[listener]) as broker:
        output = new_output(broker)

        def restart() -> None:
            sink._producer.flush()
            broker.stop()
            broker.start()

        sink = output.open()
        after(sink, step, restart)
        assert sink.write([output.piece(b"a", b"b")], 0) is True
        assert output.open().write([output.piece(b"a", b"b")], 0) is False
        assert output.values() == [b"a", b"b"]


def test_an_older_run_that_is_still_alive_writes_nothing(output: Output) -> None:
    older = output.open()
    older.write([output.piece(b"a")], 0)
    older._producer.begin_transaction()
    older._producer.produce(output.topic, b"late")
    older._producer.flush()
    newer = output.open()
    with pytest.raises(KafkaException):
        older._producer.commit_transaction(10)
    assert newer.write([output.piece(b"b")], 1) is True
    with pytest.raises(SinkFenced):
        older.write([output.piece(b"b")], 1)
    assert output.values() == [b"a", b"b"]


def test_a_run_that_is_shut_out_while_it_sends_says_so(output: Output) -> None:
    older = output.open()

    def start_another() -> None:
        output.open()
        flush(older._producer, 1)

    after(older, "_send", start_another)
    with pytest.raises(SinkFenced):
        older.write([output.piece(b"a")], 0)
    assert output.values() == []


def test_a_batch_that_takes_too_long_is_undone_and_says_so(broker: Broker) -> None:
    output = new_output(broker, transaction_timeout_ms="1000")
    sink = output.open()
    partition = [TopicPartition(output.topic, 2)]
    with BrokerView(output.kafka) as view:

        def is_undone() -> bool:
            return view.latest(partition, True) == view.latest(partition, False)

        def wait() -> None:
            sink._producer.flush()
            wait_until(is_undone, "the transaction's end", WAIT_SECONDS)

        after(sink, "_send", wait)
        with pytest.raises(SinkFenced, match=r"longer than kafka\.transaction\.timeout\.ms"):
            sink.write([output.piece(b"a", partition=2)], 0)
    assert output.values() == []
    assert output.open().write([output.piece(b"a")], 0) is True
    assert output.values() == [b"a"]


def test_more_time_than_the_broker_allows_is_refused(broker: Broker) -> None:
    output = new_output(broker, transaction_timeout_ms="86400000")
    with pytest.raises(UnusableClientOption, match=r"transaction\.max\.timeout\.ms"):
        output.open()


def test_a_checkpoint_older_than_the_output_is_refused(output: Output) -> None:
    output.open().write([output.piece(b"a")], 7)
    with pytest.raises(SinkAheadOfCheckpoint, match=r"batch 6 .* has written batch 7"):
        output.open().write([output.piece(b"b")], 6)
    assert output.values() == [b"a"]


@pytest.mark.parametrize("batch_id", [0, 1])
def test_a_sink_of_another_query_is_refused(output: Output, batch_id: int) -> None:
    """Not even the same number is a replay, then: it would be lost without a word."""
    TransactionalSink(output.kafka, output.sink_id, "first").write([output.piece(b"a")], 0)
    second = TransactionalSink(output.kafka, output.sink_id, "second")
    with pytest.raises(SinkOfAnotherQuery, match="written by query first"):
        second.write([output.piece(b"b")], batch_id)
    assert output.values() == [b"a"]


def test_what_is_wrong_is_found_before_anything_is_written(output: Output) -> None:
    good, bad = output.piece(b"a"), output.piece(b"b", partition=3)
    with pytest.raises(InvalidSinkRow, match="has 3 partitions"):
        output.open().write([good, bad], 0)
    assert output.values() == []


def test_staged_rows_that_are_gone_undo_the_batch(output: Output) -> None:
    gone = output.piece(b"b")._replace(data=None, url="/nowhere/at/all.arrow")
    with pytest.raises(StagedRowsMissing):
        output.open().write([output.piece(b"a"), gone], 0)
    assert output.open().write([output.piece(b"a")], 0) is True
    assert output.values() == [b"a"]


def test_a_record_that_the_broker_refuses_is_named(broker: Broker) -> None:
    topic = broker.create_topic("small-records", 1, {"max.message.bytes": "1000"})
    output = Output(broker.bootstrap_servers, topic)
    large = b"x" * 5_000
    with pytest.raises(RecordTooLarge, match="a record for small-records"):
        output.open().write([output.piece(b"a"), output.piece(large)], 0)
    assert output.values() == []
    with pytest.raises(RecordTooLarge, match="a record for small-records"):
        send([pa.record_batch({"value": pa.array([large])})], topic, output.kafka)


def test_sinks_do_not_know_each_other(output: Output) -> None:
    output.open().write([output.piece(b"a")], 3)
    assert Ledger(output.kafka, "headrace-sink-unheard-of").last is None
    written = LedgerEntry(3, output.sink_id)
    assert Ledger(output.kafka, f"headrace-sink-{output.sink_id}").last == written


def test_a_topic_that_nobody_creates_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.pipeline.sink.producing.METADATA_PAUSE_SECONDS", 0)
    with Broker({"auto.create.topics.enable": "false"}) as broker:
        lost = new_output(broker)
        piece = lost.piece(b"a")._replace(topics={"nobody": -1})
        with pytest.raises(TopicMissing, match="topic nobody"):
            lost.open().write([piece], 0)


def test_no_broker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.pipeline.sink.transaction.OPEN_SECONDS_MAX", 0.5)
    with pytest.raises(BrokerUnreachable, match="opening the sink"):
        Output("127.0.0.1:1", "t").open()


def test_at_least_once_sends_everything(output: Output) -> None:
    batches = [pa.record_batch({"value": pa.array([b"%d" % i])}) for i in range(3)]
    send(batches, output.topic, output.kafka)
    assert output.values() == [b"0", b"1", b"2"]


def test_at_least_once_refuses_partitions_that_do_not_exist(output: Output) -> None:
    batch = pa.record_batch({"value": pa.array([b""]), "partition": pa.array([9], pa.int32())})
    with pytest.raises(InvalidSinkRow):
        send([batch], output.topic, output.kafka)


def test_a_sink_that_nobody_opens_again_is_not_remembered(output: Output) -> None:
    sink = TransactionalSink(output.kafka, output.sink_id, "", is_repeatable=False)
    assert sink.write([output.piece(b"a")], 0) is True
    assert Ledger(output.kafka, f"headrace-sink-{output.sink_id}").last is None
    assert output.values() == [b"a"]

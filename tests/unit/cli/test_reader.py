"""When consuming stops."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.cli.client import Broker
from headrace.cli.exit_codes import Failure
from headrace.cli.reader import Limits, Reader

from .fakes import FakeConsumer, FakeError, FakeMessage

BROKER = Broker("127.0.0.1:1", [], 0.5)


def read(consumer: FakeConsumer, **limits: Any) -> list[int]:
    reader = Reader(BROKER, consumer, Limits(**limits), lambda: None)
    return [message.offset() for message in reader.messages()]


def messages(*offsets: int) -> list[FakeMessage]:
    return [FakeMessage(offset) for offset in offsets]


def test_count_ends_and_never_asks_for_more() -> None:
    consumer = FakeConsumer([messages(0, 1), [], messages(2, 3, 4)])
    assert read(consumer, records=3) == [0, 1, 2]
    assert consumer.asked == [3, 1, 1]


def test_ends_of_the_logs_end_and_later_records_are_not_shown() -> None:
    assert read(FakeConsumer([messages(0, 1), messages(2, 3)]), ends={0: 3}) == [0, 1, 2]


def test_end_of_a_partition_without_records_for_us_ends() -> None:
    end = FakeMessage(5, error_=FakeError("_PARTITION_EOF"))
    assert read(FakeConsumer([messages(3), [end]]), ends={0: 5}) == [3]


def test_end_that_was_reached_before_counts_for_nothing() -> None:
    end = FakeMessage(3, error_=FakeError("_PARTITION_EOF"))
    assert read(FakeConsumer([[end], messages(3, 4)]), ends={0: 5}) == [3, 4]
    assert read(FakeConsumer([[end], messages(3)]), records=1) == [3]


def test_nothing_to_wait_for_ends_at_once() -> None:
    consumer = FakeConsumer([])
    assert read(consumer, ends={}) == []
    assert consumer.asked == []


def test_silence_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(100))
    monkeypatch.setattr("time.monotonic", lambda: float(next(ticks)))
    assert read(FakeConsumer([messages(0)]), idle_seconds=3.0) == [0]


def test_error_in_a_message_ends_with_a_failure() -> None:
    bad = FakeMessage(0, error_=FakeError("TOPIC_AUTHORIZATION_FAILED"))
    with pytest.raises(Failure, match="topic t: it went wrong"):
        read(FakeConsumer([[bad]]))


def test_waiting_is_announced_before_each_poll() -> None:
    waits: list[int] = []
    consumer = FakeConsumer([messages(0), messages(1)])
    reader = Reader(BROKER, consumer, Limits(records=2), lambda: waits.append(len(consumer.asked)))
    assert len(list(reader.messages())) == 2
    assert waits == [0, 1]

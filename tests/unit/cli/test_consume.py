"""When consuming stops, and which options contradict each other."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.cli.client import Broker
from headrace.cli.consume import Reader
from headrace.cli.exit_codes import Failure
from headrace.cli.main import main

from .fakes import FakeConsumer, FakeError, FakeMessage

BROKER = Broker("127.0.0.1:1", [], 0.5)


def read(consumer: FakeConsumer, **limits: Any) -> list[int]:
    defaults: dict[str, Any] = {"count": None, "ends": None, "idle_seconds": None}
    reader = Reader(BROKER, consumer, **(defaults | limits))
    return [message.offset() for message in reader.messages()]


def messages(*offsets: int) -> list[FakeMessage]:
    return [FakeMessage(offset) for offset in offsets]


def test_count_ends_and_never_asks_for_more() -> None:
    consumer = FakeConsumer([messages(0, 1), [], messages(2, 3, 4)])
    assert read(consumer, count=3) == [0, 1, 2]
    assert consumer.asked == [3, 1, 1]


def test_ends_of_the_logs_end_and_later_records_are_not_shown() -> None:
    assert read(FakeConsumer([messages(0, 1), messages(2, 3)]), ends={0: 3}) == [0, 1, 2]


def test_end_of_a_partition_without_records_for_us_ends() -> None:
    end = FakeMessage(5, error_=FakeError("_PARTITION_EOF"))
    assert read(FakeConsumer([messages(3), [end]]), ends={0: 5}) == [3]


def test_end_that_was_reached_before_counts_for_nothing() -> None:
    end = FakeMessage(3, error_=FakeError("_PARTITION_EOF"))
    assert read(FakeConsumer([[end], messages(3, 4)]), ends={0: 5}) == [3, 4]
    assert read(FakeConsumer([[end], messages(3)]), count=1) == [3]


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from-beginning", "--from-offset", "1"], "pass one of --from-beginning"),
        (["--group", "g", "--from-offset", "1"], "reset-offsets"),
        (["--group", "g", "--partition", "0"], "leave out --partition"),
        (["--group", "g", "--at-end"], "use --count or --idle"),
        (["--from-time", "tomorrow"], "expected a time such as"),
    ],
)
def test_contradictions_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["consume", "t", *arguments]) == 2
    assert message in capsys.readouterr().err

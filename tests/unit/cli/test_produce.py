"""Sending: nothing is lost silently, and bad input is refused by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.cli.client import Broker
from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.main import main
from headrace.cli.produce import Sender
from headrace.cli.record_lines import OutgoingRecord

from .fakes import FakeError, FakeProducer

if TYPE_CHECKING:
    from pathlib import Path

BROKER = Broker("127.0.0.1:1", [], 0.5)
RECORD = OutgoingRecord(b"k", b"v", (("h", b"1"),), 2, 5)


def test_records_are_counted_when_they_are_acknowledged() -> None:
    producer = FakeProducer()
    sender = Sender(BROKER, producer, "t")
    sender.send(RECORD)
    sender.send(OutgoingRecord(None, b"w"))
    sender.finish()
    assert sender.acknowledged == 2
    assert producer.sent == [
        ("t", b"v", b"k", 2, {"headers": [("h", b"1")], "timestamp": 5}),
        ("t", b"w", None, -1, {"headers": None}),
    ]


def test_full_queue_is_worked_off() -> None:
    producer = FakeProducer(full_times=3)
    sender = Sender(BROKER, producer, "t")
    sender.send(RECORD)
    sender.finish()
    assert sender.acknowledged == 1


def test_refusal_ends_with_a_failure() -> None:
    sender = Sender(BROKER, FakeProducer(FakeError("MSG_SIZE_TOO_LARGE")), "t")
    with pytest.raises(Failure, match="topic t: it went wrong"):
        sender.send(RECORD)
    assert sender.acknowledged == 0


def test_records_without_acknowledgement_are_told() -> None:
    sender = Sender(BROKER, FakeProducer(left=3), "t")
    with pytest.raises(Failure, match="3 records were not acknowledged"):
        sender.finish()


def test_values_and_file_contradict(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["produce", "t", "v", "--file", str(tmp_path / "x")]) == ExitCode.USAGE
    assert "not both" in capsys.readouterr().err


def test_nobody_answering_is_one_line_and_status_three(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["produce", "t", "v", "--bootstrap", "127.0.0.1:1", "--timeout", "0.2"]
    assert main(arguments) == ExitCode.CANNOT_CONNECT
    assert "no broker answers at 127.0.0.1:1" in capsys.readouterr().err

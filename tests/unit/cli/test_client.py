"""Errors of confluent-kafka, as the command line tells them."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from headrace.cli.client import Broker, connect
from headrace.cli.exit_codes import ExitCode, Failure
from headrace.model.errors import PackageNotInstalled

from .fakes import FakeError, answered

BROKER = Broker("127.0.0.1:1", [], 0.5)


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        (
            "UNKNOWN_TOPIC_OR_PART",
            ExitCode.NOT_FOUND,
            "topic t: it went wrong; see: headrace topic",
        ),
        ("GROUP_ID_NOT_FOUND", ExitCode.NOT_FOUND, "see: headrace group list"),
        ("TOPIC_ALREADY_EXISTS", ExitCode.EXISTS, "topic t: it went wrong"),
        ("INVALID_CONFIG", ExitCode.USAGE, "topic t: it went wrong"),
        ("NON_EMPTY_GROUP", ExitCode.FAILED, "topic t: it went wrong"),
        ("_TRANSPORT", ExitCode.CANNOT_CONNECT, "no broker answers at 127.0.0.1:1"),
        ("_ALL_BROKERS_DOWN", ExitCode.CANNOT_CONNECT, "headrace serve"),
    ],
)
def test_error_becomes_a_sentence_and_a_status(name: str, code: ExitCode, message: str) -> None:
    failure = BROKER.failure(FakeError(name), "topic t")
    assert failure.code is code
    assert message in failure.message


def test_exception_of_the_library_becomes_a_failure() -> None:
    error = KafkaException(KafkaError(KafkaError.TOPIC_ALREADY_EXISTS))
    with pytest.raises(Failure) as failed:
        BROKER.result(answered(error), "topic t")
    assert failed.value.code is ExitCode.EXISTS


def test_answer_that_does_not_come_is_no_connection() -> None:
    with pytest.raises(Failure) as failed:
        BROKER.result(answered(TimeoutError()))
    assert failed.value.code is ExitCode.CANNOT_CONNECT


def test_metadata_asks_for_all_topics_so_that_none_is_created() -> None:
    asked: list[dict[str, object]] = []

    def list_topics(**arguments: object) -> SimpleNamespace:
        asked.append(arguments)
        return SimpleNamespace(topics={"here": 1})

    client = SimpleNamespace(list_topics=list_topics)
    assert BROKER.metadata(client, "here").topics == {"here": 1}
    with pytest.raises(Failure, match="there is no topic absent"):
        BROKER.metadata(client, "absent")
    assert asked == [{"timeout": 0.5}] * 2


def test_clients_are_made_without_a_connection() -> None:
    assert BROKER.producer({}) is not None
    assert BROKER.admin() is not None
    consumer = BROKER.consumer({"group.id": "g"})
    consumer.close()


def test_missing_library_is_named_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(PackageNotInstalled, match=r"confluent-kafka.*'headrace\[client\]'"):
        connect("127.0.0.1:1", [], 1)


def test_library_settings_must_be_assignments() -> None:
    with pytest.raises(Failure, match="-X nonsense: expected NAME=VALUE"):
        connect("127.0.0.1:1", ["nonsense"], 1)

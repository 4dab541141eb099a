"""Log lines: both formats carry the same facts, and no secrets."""

from __future__ import annotations

import io
import json
import logging
from typing import TYPE_CHECKING

import pytest

from headrace.config.logging_setup import HIDDEN, JsonFormatter, TextFormatter, configure_logging

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def restored_root() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def a_record(message: str, **facts: object) -> logging.LogRecord:
    record = logging.makeLogRecord(
        {"msg": message, "name": "headrace.test", "levelname": "INFO", "created": 1.5}
    )
    record.__dict__.update(facts)
    return record


def test_text_line_has_time_level_logger_message_and_facts() -> None:
    line = TextFormatter().format(a_record("listening", port=9092, note="two words"))
    assert line == (
        '1970-01-01T00:00:01.500Z INFO headrace.test listening port=9092 note="two words"'
    )


def test_json_line_has_the_same_facts() -> None:
    fields = json.loads(JsonFormatter().format(a_record("listening", port=9092)))
    assert fields == {
        "time": "1970-01-01T00:00:01.500Z",
        "level": "info",
        "logger": "headrace.test",
        "message": "listening",
        "port": 9092,
    }


@pytest.mark.parametrize("name", ["password", "sasl_jaas", "api_token", "client_secret"])
def test_secrets_are_hidden(name: str) -> None:
    record = a_record("x", **{name: "hunter2"})
    for formatter in (TextFormatter(), JsonFormatter()):
        line = formatter.format(record)
        assert "hunter2" not in line
        assert HIDDEN in line


def test_message_cannot_forge_a_line() -> None:
    assert "\n" not in TextFormatter().format(a_record("a\nb\rc", note="d\ne"))


def test_exception_is_kept() -> None:
    try:
        raise ValueError("broken")
    except ValueError as error:
        record = a_record("failed")
        record.exc_info = (type(error), error, error.__traceback__)
    assert "ValueError: broken" in TextFormatter().format(record)
    assert "ValueError: broken" in json.loads(JsonFormatter().format(record))["exception"]


@pytest.mark.usefixtures("restored_root")
def test_configure_sets_format_level_and_stream() -> None:
    stream = io.StringIO()
    configure_logging("json", "warning", stream)
    logging.getLogger("a").info("too quiet")
    logging.getLogger("a").warning("loud enough")
    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == [
        "loud enough"
    ]

"""Logs on standard error: text with ``key=value``, or one JSON object per line.

Facts go into ``extra``: ``log.info("listening", extra={"port": 9092})``, so that both formats carry
them. A fact whose name speaks of a secret is never printed.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

HIDDEN = "(hidden)"
_SECRET = re.compile(r"passw|secret|token|credential|jaas|private_key", re.IGNORECASE)
_PLAIN = re.compile(r"[^\s\"=]+\Z")
_STANDARD_FIELDS = frozenset(logging.makeLogRecord({}).__dict__) | {
    "message",
    "asctime",
    "taskName",
    "color_message",  # uvicorn's own copy of the message, for terminals
}


def configure_logging(log_format: str, level: str, stream: TextIO | None = None) -> None:
    """Replace the handlers of the root logger; ``log_format`` is text or json."""
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


class TextFormatter(logging.Formatter):
    """``2026-01-31T12:00:00.000Z INFO headrace.server listening port=9092``."""

    def format(self, record: logging.LogRecord) -> str:
        parts = [_time_of(record), record.levelname, record.name, _one_line(record.getMessage())]
        parts += [f"{name}={_quoted(value)}" for name, value in _facts(record)]
        line = " ".join(parts)
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """The same facts as one object; an exception is a field."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = {
            "time": _time_of(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields.update(_facts(record))
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str, ensure_ascii=False)


def _time_of(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _facts(record: logging.LogRecord) -> Iterator[tuple[str, object]]:
    for name, value in record.__dict__.items():
        if name not in _STANDARD_FIELDS and not name.startswith("_"):
            yield name, HIDDEN if _SECRET.search(name) else value


def _quoted(value: object) -> str:
    text = str(value)
    return text if _PLAIN.match(text) else json.dumps(text, ensure_ascii=False)


def _one_line(message: str) -> str:
    # A client's text may reach a message; it must not be able to forge a line.
    return message.replace("\r", "\\r").replace("\n", "\\n")

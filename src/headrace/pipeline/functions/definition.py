"""How a function is declared: plain values, so that a declaration can be tested without Spark.

@function(source="orders", sink="large-orders")
def large(record: Record) -> bool:
    return json.loads(record.value)["amount"] > 1000
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from headrace.pipeline.functions.errors import InvalidFunction
from headrace.pipeline.functions.record import Record

Result = Record | bytes | str | bool | None
Body = Callable[..., Result | Iterable[Result]]
DEAD_LETTER_SUFFIX = ".dead-letter"


class OnError(Enum):
    """What becomes of a record on which the function raises an error."""

    DEAD_LETTER = "dead-letter"
    STOP = "stop"


@dataclass(frozen=True)
class StreamFunction:
    """A function from topics to a topic. Calling it calls the function itself.

    What the body returns: ``None`` or ``False`` drops the record, ``True`` passes it on as it is,
    bytes or a string replace its value, a ``Record`` replaces it, an iterable of these makes many.
    With ``tables`` the body gets them as second argument, a mapping by their names.

    ``source`` is a topic, or several with commas. Without ``dead_letter_topic`` a dead letter goes
    to the topic it comes from, with ``.dead-letter`` behind its name.
    """

    name: str
    source: str
    sink: str
    body: Body
    tables: Mapping[str, Any] = field(default_factory=dict)
    on_error: OnError = OnError.DEAD_LETTER
    dead_letter_topic: str | None = None

    def __post_init__(self) -> None:
        _raise_if_circular(self.source, self.sink)
        if self.dead_letter_topic is not None:
            _raise_if_circular(self.source, self.dead_letter_topic)

    def __call__(self, *arguments: Any) -> Any:
        return self.body(*arguments)

    def dead_letter_topic_of(self, topic: str) -> str:
        return self.dead_letter_topic or topic + DEAD_LETTER_SUFFIX


@dataclass(frozen=True)
class WindowedCount:
    """How many records there were per key and window of time, by the records' own timestamps.

    A window's count is written once, when no record of it is expected any more: when one has been
    seen that is younger than the window's end by ``watermark``. Records that come later still are
    not counted. ``by`` is an SQL expression over key, value and the other columns of a record;
    ``slide`` makes windows overlap. Durations are Spark's: ``1 minute``, ``10 seconds``.

    The result has the key as its key, in text unless it is binary, and the value
    ``{"start_ms": ..., "end_ms": ..., "count": ...}``.
    """

    name: str
    source: str
    sink: str
    window: str
    watermark: str
    by: str = "key"
    slide: str | None = None

    def __post_init__(self) -> None:
        _raise_if_circular(self.source, self.sink)


Job = StreamFunction | WindowedCount


def function(
    *,
    source: str,
    sink: str,
    name: str | None = None,
    tables: Mapping[str, Any] | None = None,
    on_error: str = OnError.DEAD_LETTER.value,
    dead_letter_topic: str | None = None,
) -> Callable[[Body], StreamFunction]:
    """Declare the decorated function a job from topic ``source`` to topic ``sink``."""
    try:
        chosen = OnError(on_error)
    except ValueError:
        choices = " or ".join(choice.value for choice in OnError)
        raise InvalidFunction(f"on_error={on_error!r}: must be {choices}") from None

    def declare(body: Body) -> StreamFunction:
        return StreamFunction(
            name=name or str(getattr(body, "__name__", "function")),
            source=source,
            sink=sink,
            body=body,
            tables=dict(tables or {}),
            on_error=chosen,
            dead_letter_topic=dead_letter_topic,
        )

    return declare


def _raise_if_circular(source: str, output: str) -> None:
    sources = [topic for part in source.split(",") if (topic := part.strip())]
    if not sources or not output:
        raise InvalidFunction("a function needs a source topic and a sink topic")
    if output in sources:
        raise InvalidFunction(f"what is written to {output} would be read again, for ever")


def load(reference: str) -> Job:
    """The job that ``package.module:name`` names."""
    module_name, _, attribute = reference.partition(":")
    if not module_name or not attribute:
        raise InvalidFunction(f"{reference!r} is not of the form package.module:name")
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise InvalidFunction(f"{reference}: {error}") from error
    if not isinstance(found, StreamFunction | WindowedCount):
        raise InvalidFunction(f"{reference} is no job: declare it with @function")
    return found

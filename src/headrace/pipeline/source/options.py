"""The options of the source: the names and the meaning of Spark's Kafka source, so that changing
``kafka`` to ``headrace`` is the whole migration. Those of our own begin with ``headrace.``.

Spark does not keep the case of a name; it is kept here only for messages.
"""

from __future__ import annotations

import difflib
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.pipeline.read_settings import BATCH_BYTES_MAX, BATCH_ROWS_MAX, READ_PATHS
from headrace.pipeline.source import option_values as values
from headrace.pipeline.source.bounds import (
    EARLIEST,
    LATEST,
    AtOffsets,
    AtOneTimestamp,
    AtTimestamps,
    Bound,
    Everywhere,
)
from headrace.pipeline.source.errors import InvalidSourceOption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.model.topic import TopicPartition

log = logging.getLogger(__name__)

KAFKA_PREFIX = "kafka."
OWN_PREFIX = "headrace."
SELECTIONS = ("subscribe", "subscribePattern", "assign")
ENDINGS = ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp")
ISOLATION_LEVELS = ("read_uncommitted", "read_committed")
STRATEGIES = ("error", "latest")

MAX_TRIGGER_DELAY_DEFAULT = "15m"

KNOWN = (
    *SELECTIONS,
    *ENDINGS,
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingTimestamp",
    "startingOffsetsByTimestampStrategy",
    "failOnDataLoss",
    "includeHeaders",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "maxRecordsPerPartition",
    # No effect: the broker is asked again until kafka.default.api.timeout.ms is over, and
    # no consumer is kept in the executors.
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "kafkaConsumer.pollTimeoutMs",
    "groupIdPrefix",
    "headrace.read.path",
    "headrace.storage.url",
    "headrace.batch.rows.max",
    "headrace.batch.bytes.max",
)
_KNOWN_LOWER = {name.lower(): name for name in KNOWN}

# The source decides these itself, and Spark's Kafka source refuses them as well.
REFUSED_KAFKA_OPTIONS = {
    "auto.offset.reset": "use startingOffsets",
    "enable.auto.commit": "the checkpoint keeps the offsets",
    "interceptor.classes": "interceptors could change records",
    "key.deserializer": "keys are binary; decode them with expressions of Spark",
    "value.deserializer": "values are binary; decode them with expressions of Spark",
    "key.serializer": "the source does not write",
    "value.serializer": "the source does not write",
}


@dataclass(frozen=True)
class Selection:
    """Which partitions: exactly one of the three is set."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: tuple[TopicPartition, ...] = ()

    def __str__(self) -> str:
        if self.pattern is not None:
            return f"subscribePattern {self.pattern!r}"
        return ", ".join(self.topics or sorted({partition.topic for partition in self.assigned}))


@dataclass(frozen=True)
class SourceOptions:
    """Everything a reader needs to know; it travels to the tasks."""

    kafka: dict[str, str] = field(repr=False)  # there are passwords in it
    selection: Selection
    starting: Bound
    ending: Bound
    is_latest_if_none_newer: bool
    is_committed: bool
    fail_on_data_loss: bool
    include_headers: bool
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    min_partitions: int | None
    max_records_per_partition: int | None
    read_path: str
    storage_url: str | None
    batch_rows_max: int
    batch_bytes_max: int


class _Given:
    """The options as Spark hands them over, read by any spelling."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {name.lower(): value for name, value in options.items()}

    def names(self) -> list[str]:
        return list(self._options)

    def text(self, name: str) -> str | None:
        return self._options.get(name.lower())

    def boolean(self, name: str, default: bool) -> bool:
        text = self.text(name)
        return default if text is None else values.boolean(name, text)

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        """The first is the default."""
        text = self.text(name)
        return allowed[0] if text is None else values.choice(name, text, allowed)

    def maybe_number(self, name: str) -> int | None:
        text = self.text(name)
        return None if text is None else values.whole_number(name, text)

    def number(self, name: str, default: int) -> int:
        text = self.text(name)
        return default if text is None else values.whole_number(name, text)

    def kafka(self) -> dict[str, str]:
        return {
            name.removeprefix(KAFKA_PREFIX): value
            for name, value in self._options.items()
            if name.startswith(KAFKA_PREFIX)
        }


def parse_options(options: Mapping[str, str], *, is_streaming: bool) -> SourceOptions:
    """All options checked; InvalidSourceOption names the first that is wrong."""
    given = _Given(options)
    _look_at_unknown(given)
    ending_given = [name for name in ENDINGS if given.text(name) is not None]
    if is_streaming and ending_given:
        raise InvalidSourceOption(f"option {ending_given[0]} is only for batch queries")
    minimum, maximum = (
        given.maybe_number("minOffsetsPerTrigger"),
        given.maybe_number("maxOffsetsPerTrigger"),
    )
    if minimum is not None and maximum is not None and minimum > maximum:
        raise InvalidSourceOption(
            f"option minOffsetsPerTrigger: {minimum} is more than maxOffsetsPerTrigger, {maximum}"
        )
    kafka = _kafka_options(given)
    return SourceOptions(
        kafka=kafka,
        selection=_selection(given),
        starting=_starting(given, is_streaming),
        ending=_ending(given),
        is_latest_if_none_newer=given.choice("startingOffsetsByTimestampStrategy", STRATEGIES)
        == "latest",
        is_committed=given.choice("kafka.isolation.level", ISOLATION_LEVELS) == "read_committed",
        fail_on_data_loss=given.boolean("failOnDataLoss", True),
        include_headers=given.boolean("includeHeaders", False),
        max_offsets_per_trigger=maximum,
        min_offsets_per_trigger=minimum,
        max_trigger_delay_ms=values.duration_ms(
            "maxTriggerDelay", given.text("maxTriggerDelay") or MAX_TRIGGER_DELAY_DEFAULT
        ),
        min_partitions=given.maybe_number("minPartitions"),
        max_records_per_partition=given.maybe_number("maxRecordsPerPartition"),
        read_path=given.choice("headrace.read.path", READ_PATHS),
        storage_url=given.text("headrace.storage.url"),
        batch_rows_max=given.number("headrace.batch.rows.max", BATCH_ROWS_MAX),
        batch_bytes_max=given.number("headrace.batch.bytes.max", BATCH_BYTES_MAX),
    )


def wants_headers(options: Mapping[str, str]) -> bool:
    """Asked before it is known whether the query is a batch or a stream."""
    return _Given(options).boolean("includeHeaders", False)


def _look_at_unknown(given: _Given) -> None:
    """Spark's source passes over what it does not know, so this one may not refuse it."""
    for name in given.names():
        if name in _KNOWN_LOWER or name.startswith(KAFKA_PREFIX):
            continue
        close = difflib.get_close_matches(name, _KNOWN_LOWER, n=1)
        hint = f"; did you mean {_KNOWN_LOWER[close[0]]}?" if close else ""
        if name.startswith(OWN_PREFIX):
            own = ", ".join(known for known in KNOWN if known.startswith(OWN_PREFIX))
            raise InvalidSourceOption(f"there is no option {name}{hint} (there are: {own})")
        log.warning("option %s is none of this source and has no effect%s", name, hint)


def _kafka_options(given: _Given) -> dict[str, str]:
    kafka = given.kafka()
    if not kafka.get("bootstrap.servers", "").strip():
        raise InvalidSourceOption(
            "option kafka.bootstrap.servers is missing: host:port of the broker"
        )
    for name, instead in REFUSED_KAFKA_OPTIONS.items():
        if name in kafka:
            raise InvalidSourceOption(f"option kafka.{name} is not supported: {instead}")
    return kafka


def _selection(given: _Given) -> Selection:
    chosen = [name for name in SELECTIONS if given.text(name) is not None]
    if len(chosen) != 1:
        found = ", ".join(chosen) or "none"
        raise InvalidSourceOption(
            f"exactly one of the options {', '.join(SELECTIONS)} must be given, found: {found}"
        )
    name = chosen[0]
    text = given.text(name) or ""
    if name == "subscribe":
        return Selection(topics=values.topic_names(name, text))
    if name == "subscribePattern":
        return Selection(pattern=values.pattern(name, text))
    return Selection(assigned=values.assigned_partitions(name, text))


def _starting(given: _Given, is_streaming: bool) -> Bound:
    by_time = _by_time(given, "startingTimestamp", "startingOffsetsByTimestamp")
    if by_time is not None:
        return by_time
    default = "latest" if is_streaming else "earliest"
    bound = _offsets("startingOffsets", given.text("startingOffsets") or default)
    if not is_streaming and _mentions(bound, LATEST):
        raise InvalidSourceOption(
            "option startingOffsets: a batch query cannot start at the latest offset ('latest', -1)"
        )
    return bound


def _ending(given: _Given) -> Bound:
    by_time = _by_time(given, "endingTimestamp", "endingOffsetsByTimestamp")
    if by_time is not None:
        return by_time
    bound = _offsets("endingOffsets", given.text("endingOffsets") or "latest")
    if _mentions(bound, EARLIEST):
        raise InvalidSourceOption(
            "option endingOffsets: a query cannot end at the earliest offset ('earliest', -2)"
        )
    return bound


def _by_time(given: _Given, one: str, each: str) -> Bound | None:
    """One timestamp for all comes before one for each, and both before offsets."""
    text = given.text(one)
    if text is not None:
        return AtOneTimestamp(values.whole_number(one, text, least=0))
    text = given.text(each)
    if text is None:
        return None
    return AtTimestamps(values.positions(each, text, least=0, meaning="1700000000000"))


def _offsets(name: str, text: str) -> Bound:
    word = text.strip().lower()
    if word in ("earliest", "latest"):
        return Everywhere(EARLIEST if word == "earliest" else LATEST)
    if not word.startswith("{"):
        form = """JSON of the form {"topic": {"0": 23}}, -1 for latest, -2 for earliest"""
        raise values.wrong(name, text, f"'earliest', 'latest' or {form}")
    return AtOffsets(values.positions(name, text, least=EARLIEST, meaning="23"))


def _mentions(bound: Bound, offset: int) -> bool:
    if isinstance(bound, Everywhere):
        return bound.offset == offset
    return isinstance(bound, AtOffsets) and offset in bound.offsets.values()

"""Tables that a function looks things up in: a mapping, a file, or a compacted topic.

A task loads a table when it first needs it, and its process keeps it for the tasks after. What a
function finds in a table that changes depends on when it looks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow.dataset as ds
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from headrace.pipeline.errors import BrokerUnreachable
from headrace.pipeline.functions.errors import InvalidFunction, TableTooLarge
from headrace.pipeline.sink.clients import make_consumer, named

ROWS_MAX = 5_000_000
LOAD_SECONDS_MAX = 300.0
METADATA_SECONDS_MAX = 30.0
POLL_SECONDS = 0.1
POLL_RECORDS = 10_000
FORMATS = ("parquet", "csv", "json")


@dataclass(frozen=True)
class FileTable:
    """Rows of a Parquet, CSV or JSON (one object per line) file as dicts, by one column."""

    path: str
    key: str

    def load(self, kafka: Mapping[str, str]) -> FileLookup:
        return FileLookup(self)


@dataclass(frozen=True)
class TopicTable:
    """The last value of each key of a topic, as bytes; followed while the function runs."""

    topic: str
    refresh_seconds: float = 10.0

    def load(self, kafka: Mapping[str, str]) -> TopicLookup:
        return TopicLookup(self, kafka)


class FileLookup:
    """Read once."""

    def __init__(self, table: FileTable) -> None:
        suffix = table.path.rpartition(".")[2].lower()
        kind = "json" if suffix in ("jsonl", "ndjson") else suffix
        if kind not in FORMATS:
            raise InvalidFunction(f"{table.path}: not one of {', '.join(FORMATS)}")
        try:
            rows = ds.dataset(table.path, format=kind).head(ROWS_MAX + 1)
        except (OSError, ValueError) as error:
            raise InvalidFunction(f"the table {table.path} cannot be read: {error}") from error
        if table.key not in rows.column_names:
            raise InvalidFunction(f"the table {table.path} has no column {table.key}")
        _raise_if_large(table.path, rows.num_rows)
        try:
            self._rows = {row[table.key]: row for row in rows.to_pylist()}
        except TypeError as error:
            raise InvalidFunction(
                f"column {table.key} of {table.path} cannot be a key: {error}"
            ) from error

    def current(self) -> Mapping[Any, dict[str, Any]]:
        return self._rows


class TopicLookup:
    """Read to its end, and again from there when it is ``refresh_seconds`` old."""

    def __init__(self, table: TopicTable, kafka: Mapping[str, str]) -> None:
        self._table = table
        self._rows: dict[bytes, bytes] = {}
        self._positions: dict[int, int] = {}
        self._read_at = float("-inf")
        fixed = {
            # The library wants a name, as in fetched.py; offsets are never committed.
            "group.id": kafka.get("group.id", "headrace-pipeline"),
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": "true",
            "isolation.level": "read_committed",
        }
        self._consumer = make_consumer(kafka, fixed)

    def current(self) -> Mapping[bytes, bytes]:
        if time.monotonic() - self._read_at >= self._table.refresh_seconds:
            self._read_to_end()
            self._read_at = time.monotonic()
        return self._rows

    def _read_to_end(self) -> None:
        topic = self._table.topic
        for partition in self._partitions():
            self._positions.setdefault(partition, 0)
        # Assigned anew, every partition tells when its end is reached, even if nothing is new.
        self._consumer.assign(
            [TopicPartition(topic, partition, at) for partition, at in self._positions.items()]
        )
        unfinished = set(self._positions)
        deadline = time.monotonic() + LOAD_SECONDS_MAX
        while unfinished:
            if time.monotonic() >= deadline:
                raise BrokerUnreachable(f"table {topic} not read within {LOAD_SECONDS_MAX:.0f} s")
            for message in self._consumer.consume(POLL_RECORDS, POLL_SECONDS):
                self._take(message, unfinished)
        self._consumer.unassign()

    def _partitions(self) -> list[int]:
        """Asked each time: a topic may get more of them."""
        topic, what = self._table.topic, f"table {self._table.topic}"
        try:
            metadata = self._consumer.list_topics(topic, timeout=METADATA_SECONDS_MAX)
        except KafkaException as failure:
            raise named(failure, what) from failure
        if metadata.topics[topic].error is not None:
            raise named(KafkaException(metadata.topics[topic].error), what)
        return list(metadata.topics[topic].partitions)

    def _take(self, message: Any, unfinished: set[int]) -> None:
        error = message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            raise named(KafkaException(error), f"reading table {self._table.topic}")
        if error is not None:
            unfinished.discard(message.partition())
            self._positions[message.partition()] = message.offset()
            return
        self._positions[message.partition()] = message.offset() + 1
        key, value = message.key(), message.value()
        if key is None:
            return
        if value is None:
            self._rows.pop(key, None)
        else:
            self._rows[key] = value
            _raise_if_large(self._table.topic, len(self._rows))


def _raise_if_large(name: str, rows: int) -> None:
    if rows > ROWS_MAX:
        raise TableTooLarge(f"the table {name} has more than {ROWS_MAX} rows")


_loaded: dict[tuple[Any, str], FileLookup | TopicLookup] = {}
"""Of this process; as many as functions declare."""


def open_tables(
    tables: Mapping[str, Any], kafka: Mapping[str, str]
) -> dict[str, Mapping[Any, Any]]:
    """Every table as a mapping, as it is now."""
    return {name: _open(table, kafka) for name, table in tables.items()}


def _open(table: Any, kafka: Mapping[str, str]) -> Mapping[Any, Any]:
    if isinstance(table, Mapping):
        return table
    if not isinstance(table, FileTable | TopicTable):
        raise InvalidFunction(f"{type(table).__name__} is no table to look things up in")
    key = (table, repr(sorted(kafka.items())))
    if key not in _loaded:
        _loaded[key] = table.load(kafka)
    return _loaded[key].current()

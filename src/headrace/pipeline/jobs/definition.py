"""What a job is: where it reads, what it does, where it writes. A TOML file, read and checked.

A definition that was accepted can be run: everything that can be known without a broker or Spark is
checked here, with the line and the field in the message. Secrets stay ``${NAME}`` until the job
runs (``with_environment``).
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

from headrace.pipeline.jobs.environment_values import fill_in
from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.fields import FIELDS, Mistakes, Tables, read_tables
from headrace.pipeline.jobs.schema_option import decoding_of
from headrace.pipeline.jobs.toml_text import to_toml
from headrace.pipeline.jobs.trigger import AVAILABLE_NOW, parse_trigger

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TABLE_FORMATS = ("plain", "delta", "iceberg")
TOPIC_FORMATS = ("headrace", "kafka")
DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
DEFAULT_TRIGGER = "5 seconds"
FILE_BYTES_MAX = 2**20
JOB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


@dataclass(frozen=True, kw_only=True)
class Source:
    """Topics, and how to reach them."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    bootstrap: str = DEFAULT_BOOTSTRAP
    starting: str = "earliest"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def reader_options(self) -> dict[str, str]:
        """As ``format("headrace")`` takes them."""
        options = {"kafka.bootstrap.servers": self.bootstrap, **_starting_options(self.starting)}
        if self.pattern is not None:
            options["subscribePattern"] = self.pattern
        else:
            options["subscribe"] = ",".join(self.topics)
        return {**options, **self.options}

    def client_settings(self) -> dict[str, str]:
        """As a Kafka client takes them."""
        return {
            "bootstrap.servers": self.bootstrap,
            **_client_settings(self.options),
        }


@dataclass(frozen=True, kw_only=True)
class Transform:
    """A query or a function between source and sink; one of them, or neither."""

    sql: str | None = None
    python: str | None = None


@dataclass(frozen=True, kw_only=True)
class Sink:
    """A table or a topic."""

    format: str = "plain"
    path: str | None = None
    topic: str | None = None
    bootstrap: str | None = None
    schema: str = "raw"
    decoding: Mapping[str, str] = field(default_factory=dict)
    """Beyond what ``schema`` says."""
    partition_by: str = "hour"
    trigger: str = DEFAULT_TRIGGER
    compact: bool = True
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_table(self) -> bool:
        return self.format in TABLE_FORMATS

    @property
    def target(self) -> str:
        return (self.path if self.is_table else self.topic) or ""

    @property
    def trigger_seconds(self) -> float | None:
        """None: take what is there, then end."""
        return parse_trigger(self.trigger)

    def decoding_options(self) -> dict[str, str]:
        return {**decoding_of(self.schema), **self.decoding}


@dataclass(frozen=True, kw_only=True)
class JobDefinition:
    """One job."""

    name: str
    kind: str = "parquet"
    source: Source
    transform: Transform = Transform()
    sink: Sink
    master: str | None = None
    checkpoint: str | None = None
    group: str | None = None
    spark: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def follows(self) -> bool:
        """Whether it goes on until it is stopped."""
        return self.sink.trigger_seconds is not None

    def with_trigger(self, trigger: str) -> JobDefinition:
        return replace(self, sink=replace(self.sink, trigger=trigger))

    def with_environment(self, environment: Mapping[str, str]) -> JobDefinition:
        """With all variables filled in; InvalidDefinition names the field of one that is not set.

        What was text without a variable has been checked; a variable may hold anything.
        """
        return from_tables(fill_in(to_tables(self), environment), Mistakes())


def load_definition(path: Path) -> JobDefinition:
    """Read and check a file; InvalidDefinition says what is wrong and where."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidDefinition(f"{path}: {error.strerror}") from error
    if len(data) > FILE_BYTES_MAX:
        raise InvalidDefinition(f"{path}: longer than {FILE_BYTES_MAX} bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidDefinition(f"{path}: not UTF-8 at byte {error.start}") from error
    return parse_definition(text, str(path))


def parse_definition(text: str, origin: str = "") -> JobDefinition:
    """``origin`` names the file in messages."""
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = f"{origin}: " if origin else ""
        raise InvalidDefinition(f"{where}not TOML: {error}") from error
    mistakes = Mistakes(text, origin)
    return from_tables(read_tables(parsed, mistakes), mistakes)


def from_tables(tables: Mapping[str, Mapping[str, Any]], mistakes: Mistakes) -> JobDefinition:
    """A definition from flat tables by dotted name, whose values are of the right kinds."""
    job, source, sink = tables["job"], tables["source"], tables["sink"]
    for table, key in (("job", "name"), ("sink", "format")):
        if key not in tables[table]:
            raise mistakes.about(table, key, "is missing")
    definition = JobDefinition(
        name=job["name"],
        kind=job.get("kind", _kind_of(tables)),
        source=Source(
            topics=tuple(source.get("topic", ())),
            options=tables["source.options"],
            **_given(source, "pattern", "bootstrap", "starting"),
        ),
        transform=Transform(**tables["transform"]),
        sink=Sink(options=tables["sink.options"], decoding=tables["sink.decoding"], **sink),
        spark=tables["spark"],
        **_given(job, "master", "checkpoint", "group"),
    )
    _Check(definition, mistakes).everything()
    return definition


def to_tables(definition: JobDefinition) -> Tables:
    """The same as flat tables; what is not set is left out."""
    source, sink, transform = definition.source, definition.sink, definition.transform
    return {
        "job": _set_fields(definition, "name", "kind", "master", "checkpoint", "group"),
        "source": {
            **({"topic": list(source.topics)} if source.topics else {}),
            **_set_fields(source, "pattern", "bootstrap", "starting"),
        },
        "source.options": dict(source.options),
        "transform": _set_fields(transform, "sql", "python"),
        "sink": _set_fields(sink, *FIELDS["sink"]),
        "sink.options": dict(sink.options),
        "sink.decoding": dict(sink.decoding),
        "spark": dict(definition.spark),
    }


def definition_text(definition: JobDefinition) -> str:
    """As a TOML file that ``parse_definition`` takes back."""
    return to_toml(to_tables(definition))


class _Check:
    """What fields demand of each other."""

    def __init__(self, definition: JobDefinition, mistakes: Mistakes) -> None:
        self._definition = definition
        self._mistakes = mistakes

    def everything(self) -> None:
        self._check_names()
        self._check_source()
        self._check_transform()
        self._check_sink()

    def _refuse(self, table: str, key: str | None, message: str) -> NoReturn:
        raise self._mistakes.about(table, key, message)

    def _check_names(self) -> None:
        if not JOB_NAME.fullmatch(self._definition.name):
            self._refuse(
                "job",
                "name",
                f"{self._definition.name!r}: expected up to 200 letters, digits, dots, "
                "underscores and dashes, the first a letter or a digit",
            )

    def _check_source(self) -> None:
        source = self._definition.source
        if bool(source.topics) == (source.pattern is not None):
            self._refuse("source", "topic", "give one of topic and pattern")
        if self._definition.kind == "function" and source.pattern is not None:
            self._refuse("source", "pattern", "a function job names its topics")
        if source.pattern is not None:
            try:
                re.compile(source.pattern)
            except re.error as error:
                self._refuse("source", "pattern", f"no regular expression: {error}")
        try:
            _starting_options(source.starting)
        except ValueError:
            self._refuse(
                "source",
                "starting",
                f"{source.starting!r}: expected earliest, latest, a time such as "
                '2026-01-31T12:00:00Z, or offsets as JSON such as {"orders": {"0": 23}}',
            )

    def _check_transform(self) -> None:
        kind, transform = self._definition.kind, self._definition.transform
        if transform.python is not None and not _FUNCTION.fullmatch(transform.python):
            self._refuse("transform", "python", "expected package.module:function")
        given = (transform.sql is not None) + (transform.python is not None)
        if kind == "parquet" and given:
            self._refuse("transform", None, 'a parquet job has none; use kind = "sql"')
        if kind == "sql" and given != 1:
            self._refuse("transform", None, "a sql job needs one of sql and python")
        if kind == "function" and (transform.python is None or transform.sql is not None):
            self._refuse("transform", "python", "a function job needs it, and no sql")

    def _check_sink(self) -> None:
        kind, sink = self._definition.kind, self._definition.sink
        allowed = {"parquet": TABLE_FORMATS, "function": ("headrace",)}.get(kind)
        if allowed is not None and sink.format not in allowed:
            self._refuse(
                "sink", "format", f"{sink.format}: a {kind} job writes {', '.join(allowed)}"
            )
        needed, unused = ("path", "topic") if sink.is_table else ("topic", "path")
        if getattr(sink, needed) is None:
            self._refuse("sink", needed, f"is missing: format {sink.format} needs it")
        if getattr(sink, unused) is not None:
            self._refuse("sink", unused, f"means nothing to format {sink.format}")
        for key, check in (("trigger", parse_trigger), ("schema", decoding_of)):
            try:
                check(getattr(sink, key))
            except InvalidDefinition as error:
                self._refuse("sink", key, error.message)


def _kind_of(tables: Mapping[str, Mapping[str, Any]]) -> str:
    return "sql" if tables["transform"] else "parquet"


def _set_fields(part: Any, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(part, name)) is not None}


def _given(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def _starting_options(starting: str) -> dict[str, str]:
    if starting in ("earliest", "latest"):
        return {"startingOffsets": starting}
    if starting.lstrip().startswith("{"):
        _raise_if_no_positions(json.loads(starting))
        return {"startingOffsets": starting}
    moment = datetime.fromisoformat(starting)
    if moment.tzinfo is None:
        raise ValueError("a time without a zone")
    return {"startingTimestamp": str(int(moment.timestamp() * 1_000))}


def _raise_if_no_positions(value: Any) -> None:
    for partitions in value.values():
        if not isinstance(partitions, dict):
            raise ValueError("expected partitions")
        for partition, offset in partitions.items():
            int(partition)
            if not isinstance(offset, int):
                raise ValueError("expected an offset")


def _client_settings(options: Mapping[str, str]) -> dict[str, str]:
    prefix = "kafka."
    return {
        name.removeprefix(prefix): value
        for name, value in options.items()
        if name.startswith(prefix)
    }


__all__ = [
    "AVAILABLE_NOW",
    "JobDefinition",
    "Sink",
    "Source",
    "Transform",
    "definition_text",
    "load_definition",
    "parse_definition",
]

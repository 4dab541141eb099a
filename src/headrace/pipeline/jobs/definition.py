"""What a job is: where it reads, what it does, where it writes. A TOML file, read and checked.

A definition that was accepted can be run: everything that can be known without a broker or Spark is
checked here, with the line and the field in the message. Secrets stay ``${NAME}`` until the job
runs (``with_environment``).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headrace.pipeline.jobs.definition_check import TABLE_FORMATS, DefinitionCheck
from headrace.pipeline.jobs.environment_values import fill_in
from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.fields import FIELDS, Mistakes, Tables, read_tables
from headrace.pipeline.jobs.local_paths import schema_seen_from, seen_from
from headrace.pipeline.jobs.schema_option import decoding_of
from headrace.pipeline.jobs.starting_point import starting_options
from headrace.pipeline.jobs.toml_text import to_toml
from headrace.pipeline.jobs.trigger import AVAILABLE_NOW, parse_trigger

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
DEFAULT_TRIGGER = "5 seconds"
FILE_BYTES_MAX = 2**20


@dataclass(frozen=True, kw_only=True)
class Source:
    """Topics, and how to reach them."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    bootstrap: str = DEFAULT_BOOTSTRAP
    starting: str = "earliest"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def reader_options(self) -> dict[str, str]:
        """As ``format("headrace")`` takes them. Records that a transaction took back are left out
        unless the options say otherwise: what a job has written somewhere stays there.
        """
        options = {
            "kafka.bootstrap.servers": self.bootstrap,
            "kafka.isolation.level": "read_committed",
            **starting_options(self.starting),
        }
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
    files: tuple[str, ...] = ()
    """Python files that it needs, sent to every machine that works for the job."""


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

    def seen_from(self, directory: Path) -> JobDefinition:
        """With relative paths made absolute."""
        sink, files = self.sink, self.transform.files
        decoding = dict(sink.decoding)
        if "schema_file" in decoding:
            decoding["schema_file"] = seen_from(directory, decoding["schema_file"])
        return replace(
            self,
            checkpoint=self.checkpoint and seen_from(directory, self.checkpoint),
            transform=replace(
                self.transform, files=tuple(seen_from(directory, file) for file in files)
            ),
            sink=replace(
                sink,
                path=sink.path and seen_from(directory, sink.path),
                schema=schema_seen_from(directory, sink.schema),
                decoding=decoding,
            ),
        )

    def with_environment(self, environment: Mapping[str, str]) -> JobDefinition:
        """With all variables filled in; InvalidDefinition names the field of one that is not set.

        What was text without a variable has been checked; a variable may hold anything.
        """
        return from_tables(fill_in(to_tables(self), environment), Mistakes())


def load_definition(path: Path) -> JobDefinition:
    """Read and check a file; InvalidDefinition says what is wrong and where."""
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise InvalidDefinition(f"{path}: {error.strerror}") from error
    if len(data) > FILE_BYTES_MAX:
        raise InvalidDefinition(f"{path}: longer than {FILE_BYTES_MAX} bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidDefinition(f"{path}: not UTF-8 at byte {error.start}") from error
    return parse_definition(text, str(path)).seen_from(path.absolute().parent)


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
    transform = tables["transform"]
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
        transform=Transform(
            files=tuple(transform.get("files", ())), **_given(transform, "sql", "python")
        ),
        sink=Sink(options=tables["sink.options"], decoding=tables["sink.decoding"], **sink),
        spark=tables["spark"],
        **_given(job, "master", "checkpoint", "group"),
    )
    DefinitionCheck(definition, mistakes).everything()
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
        "transform": {
            **_set_fields(transform, "sql", "python"),
            **({"files": list(transform.files)} if transform.files else {}),
        },
        "sink": _set_fields(sink, *FIELDS["sink"]),
        "sink.options": dict(sink.options),
        "sink.decoding": dict(sink.decoding),
        "spark": dict(definition.spark),
    }


def definition_text(definition: JobDefinition) -> str:
    """As a TOML file that ``parse_definition`` takes back."""
    return to_toml(to_tables(definition))


def _kind_of(tables: Mapping[str, Mapping[str, Any]]) -> str:
    return "sql" if tables["transform"] else "parquet"


def _set_fields(part: Any, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(part, name)) is not None}


def _given(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


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

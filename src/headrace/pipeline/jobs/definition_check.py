"""What the fields of a definition demand of each other, so that an accepted one can be run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.schema_option import decoding_of
from headrace.pipeline.jobs.starting_point import starting_options
from headrace.pipeline.jobs.trigger import parse_trigger

if TYPE_CHECKING:
    from headrace.pipeline.jobs.definition import JobDefinition
    from headrace.pipeline.jobs.fields import Mistakes

JOB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
TABLE_FORMATS = ("plain", "delta", "iceberg")
PYTHON_FILES = (".py", ".zip", ".egg")
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class DefinitionCheck:
    """Raises InvalidDefinition, with the place of the field, for what cannot be run."""

    def __init__(self, definition: JobDefinition, mistakes: Mistakes) -> None:
        self._definition = definition
        self._mistakes = mistakes

    def everything(self) -> None:
        self._check_names()
        self._check_source()
        self._check_transform()
        self._check_sink()
        self._check_what_has_no_effect()

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
            starting_options(source.starting)
        except (ValueError, RecursionError):
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
        for file in transform.files:
            if not file.endswith(PYTHON_FILES):
                expected = ", ".join(PYTHON_FILES)
                self._refuse("transform", "files", f"{file}: expected a file of {expected}")
        if kind == "parquet" and (given or transform.files):
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

    def _check_what_has_no_effect(self) -> None:
        """A field that is passed over without a word costs somebody a day."""
        kind, sink = self._definition.kind, self._definition.sink
        if sink.bootstrap is not None and sink.is_table:
            self._refuse("sink", "bootstrap", f"means nothing to format {sink.format}")
        if sink.bootstrap is not None and kind == "function":
            self._refuse(
                "sink",
                "bootstrap",
                "a function job writes to the broker that it reads from; to write to another one, "
                'use kind = "sql"',
            )
        if kind == "parquet":
            return
        for key in ("schema", "partition_by"):
            if getattr(sink, key) != getattr(type(sink), key):
                self._refuse("sink", key, f"means nothing to a {kind} job: the transform decides")
        if sink.decoding:
            self._refuse("sink.decoding", None, f"means nothing to a {kind} job")

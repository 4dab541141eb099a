"""The fields of a definition, declared once: where they stand, what they take, what they mean.

``read_tables`` checks a parsed file against them. An unknown table or field is refused with the
nearest known one, since a misspelt option that is ignored costs somebody a day.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.config.names import maybe_nearest
from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.toml_text import maybe_line_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ITEMS_MAX = 1_000
TEXT_LENGTH_MAX = 100_000


class FieldKind(Enum):
    """What a field's value is."""

    TEXT = "text in quotes"
    TEXTS = "a list of texts, or one text"
    SWITCH = "true or false"


class Field(NamedTuple):
    """One field of one table."""

    kind: FieldKind
    help: str
    choices: tuple[str, ...] = ()
    example: str = ""


_TEXT, _TEXTS, _SWITCH = FieldKind.TEXT, FieldKind.TEXTS, FieldKind.SWITCH

FIELDS: dict[str, dict[str, Field]] = {
    "job": {
        "name": Field(_TEXT, "What the job is called", example='"orders"'),
        "kind": Field(_TEXT, "What it does", ("parquet", "sql", "function")),
        "master": Field(_TEXT, "Spark's master", example='"local[2,4]"'),
        "checkpoint": Field(_TEXT, "Directory of positions, if not the state directory's"),
        "group": Field(_TEXT, "Consumer group under which positions are shown as lag"),
    },
    "source": {
        "topic": Field(_TEXTS, "The topics to read"),
        "pattern": Field(_TEXT, "Or a regular expression for their names"),
        "bootstrap": Field(_TEXT, "The broker", example='"127.0.0.1:9092"'),
        "starting": Field(_TEXT, "earliest, latest, a time, or offsets as JSON"),
    },
    "transform": {
        "sql": Field(_TEXT, "A query; the records are the table `source`"),
        "python": Field(_TEXT, "Or a function", example='"package.module:function"'),
        "files": Field(_TEXTS, "Python files that it needs", example='["shop.py"]'),
    },
    "sink": {
        "format": Field(
            _TEXT, "What is written", ("plain", "delta", "iceberg", "headrace", "kafka")
        ),
        "path": Field(_TEXT, "Where the table is: a directory or a URL"),
        "topic": Field(_TEXT, "Or the topic that is written"),
        "bootstrap": Field(_TEXT, "Its broker, if not the source's"),
        "schema": Field(_TEXT, "What the values are", example='"raw", "json", "registry"'),
        "partition_by": Field(
            _TEXT, "Directories by the time of the record", ("hour", "date", "none")
        ),
        "trigger": Field(_TEXT, "How often, or available-now", example='"5 seconds"'),
        "compact": Field(_SWITCH, "Whether small files are joined"),
    },
}
OPEN_TABLES = ("source.options", "sink.options", "sink.decoding", "spark")
"""Tables whose fields belong to others: they are passed on as text."""
TABLES = (*FIELDS, *OPEN_TABLES)

Tables = dict[str, dict[str, Any]]


class Mistakes:
    """Makes the errors about one file: they name the file, the line and the field."""

    def __init__(self, text: str = "", origin: str = "") -> None:
        self._text = text
        self._origin = origin

    def about(self, table: str, key: str | None, message: str) -> InvalidDefinition:
        field = table if key is None else f"{table}.{key}"
        line = maybe_line_of(self._text, table, key)
        place = f"line {line}" if line else ""
        where = ", ".join(each for each in (self._origin, place) if each)
        return InvalidDefinition(f"{where}: {field}: {message}" if where else f"{field}: {message}")


def read_tables(parsed: Mapping[str, Any], mistakes: Mistakes) -> Tables:
    """A parsed file as flat tables by dotted name, each value of the right kind."""
    tables: Tables = {name: {} for name in TABLES}
    for name, value in parsed.items():
        _raise_if_no_table(name, value, mistakes)
        _read_table(name, value, tables, mistakes)
    return tables


def _raise_if_no_table(name: str, value: Any, mistakes: Mistakes) -> None:
    known = dict.fromkeys(each.partition(".")[0] for each in TABLES)
    if name not in known:
        raise mistakes.about(name, None, f"there is no such table{_hint(name, known)}")
    if not isinstance(value, dict):
        raise mistakes.about(name, None, f"expected a table, [{name}]")


def _read_table(name: str, values: Mapping[str, Any], tables: Tables, mistakes: Mistakes) -> None:
    for key, value in values.items():
        inner = f"{name}.{key}"
        if name in OPEN_TABLES:
            tables[name].update(_passed_on(name, key, value, mistakes))
        elif inner in OPEN_TABLES:
            if not isinstance(value, dict):
                raise mistakes.about(name, key, f"expected a table, [{inner}]")
            _read_table(inner, value, tables, mistakes)
        else:
            field = FIELDS[name].get(key)
            if field is None:
                raise mistakes.about(name, key, f"no such field{_hint(key, FIELDS[name])}")
            tables[name][key] = _checked(name, key, value, field, mistakes)


def _checked(table: str, key: str, value: Any, field: Field, mistakes: Mistakes) -> Any:
    if field.kind is FieldKind.TEXTS and isinstance(value, str):
        value = [value]
    if not _is_of_kind(value, field.kind):
        example = f", such as {field.example}" if field.example else ""
        expected = f"expected {field.kind.value}{example}"
        raise mistakes.about(table, key, f"{expected} ({_lower(field.help)})")
    if field.choices and value not in field.choices:
        raise mistakes.about(table, key, f"{value!r}: expected one of {', '.join(field.choices)}")
    if value == "" or value == []:
        raise mistakes.about(table, key, f"is empty: expected {field.kind.value}")
    return value


def _is_of_kind(value: Any, kind: FieldKind) -> bool:
    if kind is FieldKind.SWITCH:
        return isinstance(value, bool)
    if kind is FieldKind.TEXTS:
        texts = isinstance(value, list) and len(value) <= ITEMS_MAX
        return texts and all(isinstance(each, str) for each in value)
    return isinstance(value, str) and len(value) <= TEXT_LENGTH_MAX


def _passed_on(table: str, key: str, value: Any, mistakes: Mistakes) -> dict[str, str]:
    """An option of somebody else as text; nested tables are dotted names."""
    if isinstance(value, dict):
        flat: dict[str, str] = {}
        for name, inner in value.items():
            flat |= _passed_on(table, f"{key}.{name}", inner, mistakes)
        return flat
    if isinstance(value, bool):
        return {key: "true" if value else "false"}
    if isinstance(value, str | int | float):
        return {key: str(value)}
    raise mistakes.about(table, key, "expected text, a number, or true or false")


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _hint(name: str, known: Iterable[str]) -> str:
    nearest = maybe_nearest(name.replace("_", "."), known)
    return f"; did you mean {nearest}?" if nearest else f"; there are {', '.join(known)}"

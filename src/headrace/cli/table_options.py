"""``--table``, ``--to`` and ``--schema`` of a topic, as the settings that they stand for."""

from __future__ import annotations

from pathlib import Path

from headrace.cli.exit_codes import ExitCode, Failure

FORMAT = "headrace.table.format"
LOCATION = "headrace.table.location"
SCHEMA = "headrace.table.schema"
FORMATS = ("plain", "delta", "iceberg")
NO_TABLE = "none"
REGISTRY = "registry"


def table_changes(
    table: str | None, to: str | None, schema: str | None
) -> tuple[dict[str, str], list[str]]:
    """Settings to make, and settings to give up."""
    if table is None:
        if to is not None or schema is not None:
            raise Failure("--to and --schema go with --table", ExitCode.USAGE)
        return {}, []
    if table == NO_TABLE:
        if to is not None or schema is not None:
            raise Failure("--table none takes neither --to nor --schema", ExitCode.USAGE)
        return {}, [FORMAT, LOCATION, SCHEMA]
    if table not in FORMATS:
        expected = ", ".join((*FORMATS, NO_TABLE))
        raise Failure(f"--table {table}: expected one of {expected}", ExitCode.USAGE)
    if to is None:
        raise Failure(f"--table {table} needs --to PATH", ExitCode.USAGE)
    settings = {FORMAT: table, LOCATION: absolute(to)}
    if schema is not None:
        settings[SCHEMA] = with_absolute_file(schema)
    return settings, []


def absolute(location: str) -> str:
    """A path of this shell as others call it, who are in other directories; URLs stay."""
    return location if "://" in location else str(Path(location).absolute())


def with_absolute_file(schema: str) -> str:
    """``avro:FILE`` with the file as others call it."""
    kind, _, rest = schema.partition(":")
    return f"{kind}:{absolute(rest)}" if rest and kind != REGISTRY else schema

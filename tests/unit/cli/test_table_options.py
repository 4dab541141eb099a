"""``--table`` and its companions."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cli.exit_codes import Failure
from headrace.cli.main import main
from headrace.cli.table_options import table_changes


def test_table_is_a_format_and_a_place() -> None:
    assert table_changes("delta", "s3://lake/t", "json") == (
        {
            "headrace.table.format": "delta",
            "headrace.table.location": "s3://lake/t",
            "headrace.table.schema": "json",
        },
        [],
    )


def test_path_is_made_absolute() -> None:
    settings, _ = table_changes("plain", "lake", None)
    assert settings["headrace.table.location"] == str(Path.cwd() / "lake")
    assert "headrace.table.schema" not in settings


@pytest.mark.parametrize("schema", ["raw", "registry:http://r:8080", "avro:/s/o.avsc"])
def test_schema_that_needs_no_change(schema: str) -> None:
    assert table_changes("plain", "/x", schema)[0]["headrace.table.schema"] == schema


def test_file_of_a_schema_is_made_absolute() -> None:
    settings, _ = table_changes("plain", "/x", "protobuf:o.proto:shop.Order")
    expected = f"protobuf:{Path.cwd() / 'o.proto'}:shop.Order"
    assert settings["headrace.table.schema"] == expected


def test_none_gives_all_settings_up() -> None:
    settings, unset = table_changes("none", None, None)
    assert settings == {}
    assert len(unset) == 3


def test_nothing_asked_changes_nothing() -> None:
    assert table_changes(None, None, None) == ({}, [])


@pytest.mark.parametrize(
    ("table", "to", "message"),
    [
        (None, "/x", "go with --table"),
        ("none", "/x", "takes neither"),
        ("csv", "/x", "expected one of plain, delta, iceberg, none"),
        ("delta", None, "needs --to PATH"),
    ],
)
def test_mistakes(table: str | None, to: str | None, message: str) -> None:
    with pytest.raises(Failure, match=message):
        table_changes(table, to, None)


def test_mistake_is_status_two_without_a_broker(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topic", "alter", "t", "--table", "delta"]) == 2
    assert "--table delta needs --to PATH" in capsys.readouterr().err

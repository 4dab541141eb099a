"""``headrace schema`` against the registry of a running broker."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("avro")

from headrace.cli.exit_codes import ExitCode
from headrace.cli.main import main
from headrace.testing import Broker

from .schema_samples import ORDER, ORDER_BROKEN, ORDER_WITH_NOTE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(http=True) as broker:
        yield broker


class Command:
    """Runs verbs against one registry, in this process."""

    def __init__(self, url: str, directory: Path, capture: pytest.CaptureFixture[str]) -> None:
        self._url = url
        self._directory = directory
        self._capture = capture
        self.error = ""

    def file(self, name: str, text: str) -> str:
        path = self._directory / name
        path.write_text(text)
        return str(path)

    def __call__(self, *arguments: str, status: int = ExitCode.OK) -> str:
        found = main(["schema", *arguments, "--registry", self._url])
        captured = self._capture.readouterr()
        self.error = captured.err
        assert found == status, captured.err
        return captured.out

    def json(self, *arguments: str, status: int = ExitCode.OK) -> Any:
        return json.loads(self(*arguments, "--json", status=status))


@pytest.fixture
def schema(broker: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(broker.http_url, tmp_path, capsys)


def test_register_list_and_show(schema: Command) -> None:
    order, newer = schema.file("a.avsc", ORDER), schema.file("b.avsc", ORDER_WITH_NOTE)
    assert "a/b version 1 has id" in schema("register", "a/b", order)
    second = schema.json("register", "a/b", newer)
    assert (second["subject"], second["version"]) == ("a/b", 2)
    assert schema.json("register", "a/b", newer) == second
    newest = {"subject": "a/b", "version": 2, "id": second["id"], "type": "avro", "deleted": False}
    assert schema.json("list", "--prefix", "a/") == [newest]
    assert [row["version"] for row in schema.json("list", "a/b")] == [1, 2]
    assert "VERSION" in schema("list")
    assert json.loads(schema("show", "a/b", "--version", "1")) == json.loads(ORDER)
    assert schema.json("show", "a/b")["id"] == second["id"]


def test_check_says_why_not(schema: Command) -> None:
    schema("register", "checked", schema.file("a.avsc", ORDER))
    newer, broken = schema.file("b.avsc", ORDER_WITH_NOTE), schema.file("c.avsc", ORDER_BROKEN)
    assert schema("check", "checked", newer) == "checked: compatible\n"
    refused = schema.json("check", "checked", broken, status=ExitCode.FAILED)
    assert refused["compatible"] is False
    assert refused["problems"]
    schema("register", "checked", broken, status=ExitCode.FAILED)
    assert "incompatible" in schema.error


def test_delete_softly_and_for_good(schema: Command) -> None:
    for name, text in (("a.avsc", ORDER), ("b.avsc", ORDER_WITH_NOTE)):
        schema("register", "passing", schema.file(name, text))
    latest = schema.json("delete", "passing", "--version", "latest", "--permanent", "--yes")
    assert latest == {"subject": "passing", "versions": [2], "permanent": True}
    assert schema.json("delete", "passing", "--yes")["versions"] == [1]
    assert schema.json("list", "passing", "--deleted")[0]["deleted"] is True
    schema("list", "passing", status=ExitCode.NOT_FOUND)
    assert schema.json("delete", "passing", "--permanent", "--yes")["versions"] == [1]
    schema("delete", "passing", "--yes", status=ExitCode.NOT_FOUND)


def test_other_kinds_references_and_standard_input(
    schema: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema("register", "named", schema.file("a.avsc", ORDER))
    line = schema.file("l.avsc", '{"type": "array", "items": "Order"}')
    schema("register", "naming", line, "--reference", "Order=named:1")
    assert schema.json("show", "naming")["references"][0]["subject"] == "named"
    monkeypatch.setattr("sys.stdin", io.StringIO('syntax = "proto3"; message M {}'))
    schema("register", "p", "-", "--type", "protobuf")
    assert schema.json("list", "p")[0]["type"] == "protobuf"
    schema("register", "bad", schema.file("bad.avsc", "{"), status=ExitCode.USAGE)
    assert "AVRO" in schema.error

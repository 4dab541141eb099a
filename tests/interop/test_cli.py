"""The command line against a running broker: Headrace, or the Kafka that the environment names."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from headrace.cli.exit_codes import ExitCode
from headrace.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.interop

IDLE_SECONDS = "6"
"""Longer than the delay of a group's first rebalance."""


class Command:
    """Runs verbs against one broker, in this process."""

    def __init__(self, bootstrap: str, capture: pytest.CaptureFixture[str]) -> None:
        self._bootstrap = bootstrap
        self._capture = capture
        self.error = ""

    def __call__(self, *arguments: str, status: int = ExitCode.OK) -> str:
        found = main([*arguments, "--bootstrap", self._bootstrap])
        captured = self._capture.readouterr()
        self.error = captured.err
        assert found == status, captured.err
        return captured.out

    def json(self, *arguments: str, status: int = ExitCode.OK) -> Any:
        return json.loads(self(*arguments, "--json", status=status))

    def json_lines(self, *arguments: str) -> list[Any]:
        return [json.loads(line) for line in self(*arguments, "--json").splitlines()]


@pytest.fixture
def headrace(bootstrap_servers: str, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(bootstrap_servers, capsys)


@pytest.fixture
def topic(headrace: Command) -> str:
    name = f"cli-{uuid.uuid4().hex[:8]}"
    # Some records here have old timestamps; retention must not take them away.
    headrace("topic", "create", name, "--partitions", "2", "--config", "retention.ms=-1")
    return name


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """What the next verb reads from standard input."""

    def replace(text: str) -> None:
        stream = io.TextIOWrapper(io.BytesIO(text.encode()))
        monkeypatch.setattr(sys, "stdin", stream)

    return replace


def test_topic_is_created_listed_described_altered_and_deleted(headrace: Command) -> None:
    name = f"cli-{uuid.uuid4().hex[:8]}"
    settings = ("--config", "retention.ms=5000")
    created = headrace.json("topic", "create", name, "--partitions", "2", *settings)
    assert created == {"topic": name, "created": True}
    headrace("topic", "create", name, status=ExitCode.EXISTS)
    assert headrace.json("topic", "create", name, "--if-absent")["created"] is False
    assert {"topic": name, "partitions": 2} in headrace.json("topic", "list")
    headrace("topic", "alter", name, "--partitions", "3", "-c", "segment.ms=9000")
    described = headrace.json("topic", "describe", name)
    assert described["settings"] == {"retention.ms": "5000", "segment.ms": "9000"}
    assert [each["partition"] for each in described["partitions"]] == [0, 1, 2]
    headrace("topic", "alter", name, "--unset", "segment.ms")
    assert "retention.ms=5000\n" in headrace("topic", "describe", name)
    headrace("topic", "delete", name)
    headrace("topic", "describe", name, status=ExitCode.NOT_FOUND)
    headrace("topic", "delete", name, status=ExitCode.NOT_FOUND)


def test_mistakes_about_topics_say_what_is_wrong(headrace: Command, topic: str) -> None:
    headrace("topic", "create", "a/b", status=ExitCode.USAGE)
    headrace("topic", "create", f"{topic}-x", "-c", "retention.ms=abc", status=ExitCode.USAGE)
    assert "retention.ms" in headrace.error
    headrace("topic", "alter", topic, "--partitions", "1", status=ExitCode.USAGE)
    headrace("topic", "describe", f"{topic}-x", status=ExitCode.NOT_FOUND)
    assert f"{topic}-x" not in {each["topic"] for each in headrace.json("topic", "list")}


def test_records_go_in_and_come_out_with_keys_and_headers(headrace: Command, topic: str) -> None:
    arguments = ("--key", "k", "--header", "source=web", "--partition", "1")
    sent = headrace.json("produce", topic, "a", "b", *arguments)
    assert sent == {"topic": topic, "records": 2, "last_offsets": {"1": 1}}
    first, second = headrace.json_lines("consume", topic, "--from-beginning", "--at-end")
    assert (first["key"], first["value"], first["offset"]) == ("k", "a", 0)
    assert first["headers"] == [{"name": "source", "value": "web"}]
    assert (second["partition"], second["value"]) == (1, "b")
    printed = headrace("consume", topic, "--from-beginning", "--at-end", "--keys", "--headers")
    assert printed == "source=web\tk\ta\nsource=web\tk\tb\n"


def test_lines_of_standard_input_are_records(
    headrace: Command, topic: str, type_in: Callable[[str], None]
) -> None:
    type_in("1:one\n2:two\n")
    arguments = ("--key-separator", ":", "--partition", "0", "--compression", "zstd")
    headrace("produce", topic, *arguments)
    found = headrace.json_lines("consume", topic, "--partition", "0", "--from-beginning", "-n", "2")
    assert [(each["key"], each["value"]) for each in found] == [("1", "one"), ("2", "two")]


def test_json_lines_copy_a_topic_through_a_file(
    headrace: Command, topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "records.jsonl"
    lines = [
        {"key": "a", "value": {"n": 1}, "partition": 0, "timestamp_ms": 1_700_000_000_000},
        {"value_base64": "/wA=", "partition": 1, "headers": {"h": "1"}},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    headrace("produce", topic, "--input", "json", "--file", str(file))
    copy = f"{topic}-copy"
    headrace("topic", "create", copy, "--partitions", "2", "--config", "retention.ms=-1")
    headrace("consume", topic, "--from-beginning", "--at-end", "--json", "--file", str(file))
    headrace("produce", copy, "--input", "json", "--file", str(file))
    found = headrace.json_lines("consume", copy, "--from-beginning", "--at-end")
    plain, other = sorted(found, key=lambda each: int(each["partition"]))
    assert (plain["value"], plain["timestamp_ms"]) == ('{"n":1}', 1_700_000_000_000)
    assert (other["value_base64"], other["headers"]) == ("/wA=", [{"name": "h", "value": "1"}])


def test_reader_that_has_had_enough_ends_consuming(
    headrace: Command, topic: str, bootstrap_servers: str
) -> None:
    headrace("produce", topic, *(str(number) for number in range(100)))
    command = [sys.executable, "-m", "headrace", "consume", topic, "--from-beginning"]
    with subprocess.Popen(
        [*command, "--bootstrap", bootstrap_servers], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        headrace("produce", topic, *(str(number) for number in range(100)))
        assert process.stderr.read() == b""
        assert process.wait(60) == ExitCode.OK


def test_consuming_starts_at_offsets_and_times(
    headrace: Command, topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "records.jsonl"
    start_ms = 1_700_000_000_000
    records = [
        {"value": str(n), "partition": 0, "timestamp_ms": start_ms + n * 1000} for n in range(5)
    ]
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    headrace("produce", topic, "--input", "json", "--file", str(file))
    place = ("consume", topic, "--partition", "0", "--at-end")
    assert headrace(*place, "--from-offset", "3") == "3\n4\n"
    assert headrace(*place, "--from-offset", "-2") == "3\n4\n"
    assert headrace(*place, "--from-time", str(start_ms + 1500)) == "2\n3\n4\n"
    assert headrace(*place, "--from-time", "2099-01-01") == ""
    assert headrace(*place) == ""


def test_group_commits_is_described_reset_and_deleted(headrace: Command, topic: str) -> None:
    group = f"{topic}-group"
    headrace("produce", topic, "a", "b", "c", "--partition", "0")
    arguments = ("--group", group, "--from-beginning", "--idle", IDLE_SECONDS)
    assert headrace("consume", topic, *arguments) == "a\nb\nc\n"
    headrace("produce", topic, "d", "--partition", "0")
    listed = {each["group"]: each for each in headrace.json("group", "list")}
    assert (listed[group]["state"], listed[group]["lag"]) == ("empty", 1)
    described = headrace.json("group", "describe", group)
    offsets = {each["partition"]: each for each in described["offsets"]}
    assert (offsets[0]["committed"], offsets[0]["end_offset"], offsets[0]["lag"]) == (3, 4, 1)
    headrace("group", "reset-offsets", group, "-t", f"{topic}:0", "--to-earliest")
    assert "--execute" in headrace.error
    assert headrace("consume", topic, *arguments) == "d\n"
    reset = ("group", "reset-offsets", group, "-t", f"{topic}:0", "--to-offset", "1", "--execute")
    (moved,) = headrace.json(*reset)["offsets"]
    assert (moved["from"], moved["to"]) == (4, 1)
    assert headrace("consume", topic, *arguments) == "b\nc\nd\n"
    headrace("group", "delete", group)
    headrace("group", "describe", group, status=ExitCode.NOT_FOUND)
    headrace("group", "delete", group, status=ExitCode.NOT_FOUND)


def test_settings_are_read_set_and_unset(headrace: Command, topic: str) -> None:
    place = ("--topic", topic)
    headrace("config", "set", *place, "retention.ms=7000", "cleanup.policy=compact")
    (entry,) = headrace.json("config", "get", *place, "retention.ms")
    assert (entry["value"], entry["source"]) == ("7000", "topic")
    headrace("config", "unset", *place, "retention.ms")
    changed = {row["name"] for row in headrace.json("config", "get", *place, "--changed")}
    assert "cleanup.policy" in changed
    assert "retention.ms" not in changed
    headrace("config", "set", *place, "retention.ms=abc", status=ExitCode.USAGE)
    headrace("config", "set", *place, "nonsense=1", status=ExitCode.USAGE)
    headrace("config", "get", *place, "nonsense", status=ExitCode.NOT_FOUND)


def test_broker_settings_change_without_restart(headrace: Command) -> None:
    headrace("config", "set", "--broker", "1", "log.cleaner.backoff.ms=14000")
    (entry,) = headrace.json("config", "get", "--broker", "1", "log.cleaner.backoff.ms")
    assert (entry["value"], entry["source"]) == ("14000", "broker, set at run time")
    headrace("config", "unset", "--broker", "1", "log.cleaner.backoff.ms")
    (entry,) = headrace.json("config", "get", "--broker", "1", "log.cleaner.backoff.ms")
    assert (entry["value"], entry["source"]) == ("15000", "default")
    headrace("config", "set", "--broker", "1", "node.id=7", status=ExitCode.USAGE)


def test_what_is_not_there_is_status_four(headrace: Command, topic: str) -> None:
    headrace("consume", f"{topic}-absent", status=ExitCode.NOT_FOUND)
    headrace("consume", topic, "--partition", "9", status=ExitCode.NOT_FOUND)
    headrace("produce", topic, "x", "--partition", "9", status=ExitCode.NOT_FOUND)
    headrace("produce", topic, "--file", "/nowhere/records", status=ExitCode.NOT_FOUND)
    headrace("group", "describe", f"{topic}-absent", status=ExitCode.NOT_FOUND)


def test_doctor_sees_the_broker(headrace: Command, tmp_path: Path) -> None:
    checks = {each["check"]: each for each in headrace.json("doctor", "--data", str(tmp_path))}
    assert checks["port"]["found"].startswith("a broker answers")

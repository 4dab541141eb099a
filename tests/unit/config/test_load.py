"""Where settings come from: file, then environment, then flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.config.load import (
    FILE_BYTES_MAX,
    from_environment,
    from_file,
    from_flags,
    from_toml,
    load_settings,
)
from headrace.model.errors import InvalidConfig

if TYPE_CHECKING:
    from pathlib import Path


def test_later_places_win(tmp_path: Path) -> None:
    file = tmp_path / "headrace.toml"
    file.write_text('"num.partitions" = 1\n"log.retention.ms" = 1\n"message.max.bytes" = 1\n')
    environment = {"HEADRACE_LOG_RETENTION_MS": "2", "HEADRACE_MESSAGE_MAX_BYTES": "2"}
    assert load_settings(file, environment, ["message.max.bytes=3"]) == {
        "num.partitions": "1",
        "log.retention.ms": "2",
        "message.max.bytes": "3",
    }


def test_nothing_given_is_nothing_set() -> None:
    assert load_settings(None, {"PATH": "/bin"}, []) == {}


@pytest.mark.parametrize(
    "text",
    [
        '"log.retention.ms" = 1000',
        "log.retention.ms = 1000",
        "[log.retention]\nms = 1000",
        "[log]\nretention = { ms = 1000 }",
        '[log]\n"retention.ms" = 1000',
    ],
)
def test_dotted_names_can_be_quoted_or_nested(text: str) -> None:
    assert from_toml(text) == {"log.retention.ms": "1000"}


def test_values_of_all_types_become_text() -> None:
    text = """
    listen = ["kafka://127.0.0.1:1", "http://127.0.0.1:2"]
    auto.create.topics.enable = false
    log.cleaner.min.cleanable.ratio = 0.25
    durability = "fsync"
    """
    assert from_toml(text) == {
        "listen": "kafka://127.0.0.1:1,http://127.0.0.1:2",
        "auto.create.topics.enable": "false",
        "log.cleaner.min.cleanable.ratio": "0.25",
        "durability": "fsync",
    }


def test_own_options_may_drop_their_prefix() -> None:
    known = {"headrace.open.files.max": "50"}
    assert from_toml("open.files.max = 50") == known
    assert from_toml("headrace.open.files.max = 50") == known
    assert from_environment({"HEADRACE_OPEN_FILES_MAX": "50"}) == known
    assert from_flags(["open.files.max=50"]) == known


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("num.partition = 1", r"num\.partition: there is no such option; did you mean num\.part"),
        ("zzz = 1", "headrace config explain"),
        ("num.partitions = 2024-01-01", "expected text, a number"),
        ("num.partitions = [[1]]", "expected text, a number"),
        ('num.partitions = 1\n"num.partitions" = 2', "given twice"),
        ("num.partitions = ", "Invalid value"),
        ("max.connections = 1\nmax.connections.per.ip = 2", "quote both"),
    ],
)
def test_bad_file_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidConfig, match=message):
        from_toml(text)


def test_refusal_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text("nonsense = 1")
    with pytest.raises(InvalidConfig, match=r"bad\.toml: nonsense: there is no such option"):
        from_file(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidConfig, match=r"bad\.toml: .*decode"):
        from_file(file)
    file.write_bytes(b"#" * (FILE_BYTES_MAX + 1))
    with pytest.raises(InvalidConfig, match="larger than"):
        from_file(file)


def test_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match=r"cannot read .*absent\.toml: No such file"):
        from_file(tmp_path / "absent.toml")


def test_environment_refuses_what_it_does_not_know() -> None:
    with pytest.raises(InvalidConfig, match="HEADRACE_NUM_PARTITION in the environment"):
        from_environment({"HEADRACE_NUM_PARTITION": "1"})


def test_environment_leaves_the_command_lines_own_variables_alone() -> None:
    own = ("BOOTSTRAP", "CONFIG", "TRACEBACK", "TEST_BOOTSTRAP")
    assert from_environment({f"HEADRACE_{name}": "x" for name in own}) == {}


@pytest.mark.parametrize(
    "variable",
    ["SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_KAFKA", "PORT", "PORT_9092_TCP_ADDR"],
)
def test_environment_ignores_variables_of_service_links(variable: str) -> None:
    assert from_environment({f"HEADRACE_{variable}": "tcp://10.0.0.1:9092"}) == {}


def test_flags_keep_equals_signs_in_values_and_the_last_wins() -> None:
    flags = ["broker.rack=a=b", "num.partitions=1", "num.partitions=2"]
    assert from_flags(flags) == {"broker.rack": "a=b", "num.partitions": "2"}


def test_flag_without_value_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="expected NAME=VALUE"):
        from_flags(["num.partitions"])

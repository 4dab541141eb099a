"""``headrace quota`` against a broker in this process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from headrace.cli.exit_codes import ExitCode
from headrace.cli.main import main
from headrace.testing import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator

UNUSED = "127.0.0.1:1"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


class Quota:
    """Runs the verb and reads what it prints."""

    def __init__(self, broker: Broker, capture: pytest.CaptureFixture[str]) -> None:
        self._bootstrap = broker.bootstrap_servers
        self._capture = capture
        self.error = ""

    def __call__(self, *arguments: str, status: int = ExitCode.OK) -> str:
        found = main(["quota", *arguments, "--bootstrap", self._bootstrap])
        captured = self._capture.readouterr()
        self.error = captured.err
        assert found == status, captured.err
        return captured.out

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json"))


@pytest.fixture
def quota(broker: Broker, capsys: pytest.CaptureFixture[str]) -> Quota:
    return Quota(broker, capsys)


def test_quotas_are_set_listed_and_deleted(quota: Quota) -> None:
    alice = ("--user", "alice")
    done = quota.json("set", *alice, "producer_byte_rate=1000000", "request_percentage=12.5")
    assert done == {
        "entity": {"user": "alice"},
        "set": {"producer_byte_rate": 1_000_000.0, "request_percentage": 12.5},
    }
    rows = quota.json("list", *alice)
    assert [(row["user"], row["quota"], row["value"]) for row in rows] == [
        ("alice", "producer_byte_rate", 1_000_000.0),
        ("alice", "request_percentage", 12.5),
    ]
    assert "producer_byte_rate" in quota("list", *alice)
    quota("delete", *alice, "request_percentage")
    assert quota.json("delete", *alice)["deleted"] == ["producer_byte_rate"]
    assert quota.json("list", *alice) == []


def test_defaults_are_entities_of_their_own(quota: Quota) -> None:
    quota("set", "--default-user", "--client-id", "app", "consumer_byte_rate=1000000")
    quota("set", "--default-ip", "connection_creation_rate=1000")
    (row,) = quota.json("list", "--client-id", "app")
    assert (row["user"], row["client-id"], row["ip"]) == ("<default>", "app", None)
    assert quota.json("list", "--client-id", "app", "--strict") == []
    assert len(quota.json("list", "--default-ip")) == 1
    quota("delete", "--default-ip")
    quota("delete", "--default-user", "--client-id", "app")
    assert quota.json("list") == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["set", "producer_byte_rate=1"], "for whom?"),
        (["set", "--user", "a", "--default-user", "producer_byte_rate=1"], "not both"),
        (["set", "--user", "a", "producer_byte_rate=many"], "expected a number"),
        (["set", "--user", "a", "producer_byte_rate"], "expected NAME=VALUE"),
        (["set", "--user", "a", "producer_byte_rate=0"], "above zero"),
        (["set", "--user", "a", "no_such=1"], "choose from"),
        (["set", "--ip", "10.0.0.1", "--user", "a", "producer_byte_rate=1"], "cannot name a user"),
        (["list", "-X", "security.protocol=CARRIER_PIGEON"], "no such protocol"),
        (["list", "-X", "security.protocol=SASL_PLAINTEXT"], "this verb knows PLAIN"),
    ],
)
def test_wrong_arguments_are_told_in_one_line(
    quota: Quota, arguments: list[str], sentence: str
) -> None:
    quota(*arguments, status=ExitCode.USAGE)
    assert sentence in quota.error
    assert len(quota.error.splitlines()) == 1


@pytest.mark.parametrize("arguments", [["--user", "nobody"], ["--user", "nobody", "x"]])
def test_what_is_not_set_cannot_be_deleted(quota: Quota, arguments: list[str]) -> None:
    quota("delete", *arguments, status=ExitCode.NOT_FOUND)
    assert "not set for this entity" in quota.error


def test_nobody_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quota", "list", "--bootstrap", UNUSED]) == ExitCode.CANNOT_CONNECT
    assert "no broker answers" in capsys.readouterr().err

"""``headrace cluster`` against a broker in this process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from headrace.cli.exit_codes import ExitCode
from headrace.cli.main import main
from headrace.testing import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator


class Verb:
    """Runs ``headrace cluster`` against one broker."""

    def __init__(self, broker: Broker, capture: pytest.CaptureFixture[str]) -> None:
        self._broker = broker
        self._capture = capture
        self.error = ""

    def __call__(self, *arguments: str, status: int = ExitCode.OK) -> str:
        found = main(["cluster", *arguments, "--bootstrap", self._broker.bootstrap_servers])
        captured = self._capture.readouterr()
        self.error = captured.err
        assert found == status, captured.err
        return captured.out

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json"))

    def level(self, feature: str) -> int:
        return self._broker.call(lambda server: server.broker.features.level(feature))


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def cluster(broker: Broker, capsys: pytest.CaptureFixture[str]) -> Verb:
    return Verb(broker, capsys)


def test_cluster_is_described_as_json(cluster: Verb, broker: Broker) -> None:
    told = cluster.json("describe")
    info = broker.call(lambda server: server.broker.cluster)
    assert (told["cluster"], told["controller"]) == (info.cluster_id, 1)
    assert told["nodes"] == [{"node": 1, "host": "127.0.0.1", "port": broker.port, "rack": None}]
    assert told["quorum"]["leader"] == 1
    (voter,) = told["quorum"]["voters"]
    assert 0 < told["quorum"]["high_watermark"] <= voter["end_offset"]


def test_features_are_described_with_their_levels(cluster: Verb) -> None:
    features = {each["feature"]: each for each in cluster.json("describe")["features"]}
    assert features["transaction.version"]["level"] == 2
    assert features["transaction.version"]["supported"] == "0-2"
    assert features["metadata.version"]["level"] == 30


def test_cluster_is_described_for_people(cluster: Verb) -> None:
    text = cluster("describe")
    assert "CLUSTER" not in text
    assert text.startswith("cluster ")
    for word in ("controller", "NODE", "FEATURE", "high watermark", "VOTER"):
        assert word in text


def test_level_goes_down_and_up(cluster: Verb) -> None:
    assert cluster("set-feature", "transaction.version=1", "--downgrade") == (
        "set: transaction.version=1\n"
    )
    assert cluster.level("transaction.version") == 1
    assert cluster.json("set-feature", "transaction.version=2") == {
        "features": {"transaction.version": 2},
        "changed": True,
    }
    assert cluster.level("transaction.version") == 2


def test_dry_run_changes_nothing(cluster: Verb) -> None:
    wish = ("transaction.version=0", "--unsafe-downgrade", "--dry-run")
    assert cluster("set-feature", *wish) == "could be set: transaction.version=0\n"
    assert cluster.level("transaction.version") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["transaction.version=1"], "a downgrade was not asked for"),
        (["transaction.version=3"], "levels 0 to 2"),
        (["nonsense=1"], "does not know the feature"),
        (["transaction.version"], "expected NAME=VALUE"),
        (["transaction.version=two"], "a level is 0 to 32767"),
        (["transaction.version=-1"], "a level is 0 to 32767"),
        (["transaction.version=99999"], "a level is 0 to 32767"),
    ],
)
def test_mistakes_are_status_two(cluster: Verb, arguments: list[str], message: str) -> None:
    cluster("set-feature", *arguments, status=ExitCode.USAGE)
    assert message in cluster.error


def test_nobody_at_the_address_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["cluster", "describe", "--bootstrap", "127.0.0.1:1"]
    assert main(arguments) == ExitCode.CANNOT_CONNECT
    assert "no broker answers at 127.0.0.1:1" in capsys.readouterr().err

"""Kafka's own administration tools against Headrace: they print what they print for one node."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from headrace.cli.main import main

from .broker_process import BrokerProcess
from .kafka_tools import run_kafka_class, tools_missing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.maven]

TOOLS = "org.apache.kafka.tools"
FEATURES = f"{TOOLS}.FeatureCommand"
QUORUM = f"{TOOLS}.MetadataQuorumCommand"
ELECTION = f"{TOOLS}.LeaderElectionCommand"
REASSIGNMENT = f"{TOOLS}.reassign.ReassignPartitionsCommand"
TOPIC = "orders"


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    missing = tools_missing()
    if missing is not None:
        pytest.skip(missing)
    with BrokerProcess(tmp_path_factory.mktemp("tools") / "data") as broker:
        arguments = ["topic", "create", TOPIC, "--partitions", "2"]
        assert main([*arguments, "--bootstrap", broker.bootstrap_servers]) == 0
        yield broker.bootstrap_servers


def test_features_are_described_and_changed(bootstrap: str) -> None:
    def run(*arguments: str) -> str:
        return run_kafka_class(FEATURES, "--bootstrap-server", bootstrap, *arguments)

    assert re.search(r"metadata.version.*FinalizedVersionLevel: 4.3-IV0", run("describe"))
    changed = run("downgrade", "--feature", "transaction.version=1")
    assert "transaction.version was downgraded to 1." in changed
    assert re.search(r"transaction.version.*FinalizedVersionLevel: 1", run("describe"))
    changed = run("upgrade", "--feature", "transaction.version=2")
    assert "transaction.version was upgraded to 2." in changed


def test_quorum_is_described(bootstrap: str) -> None:
    address = ("--bootstrap-server", bootstrap)
    status = run_kafka_class(QUORUM, *address, "describe", "--status")
    assert re.search(r"LeaderId:\s+1\n", status)
    assert re.search(r"MaxFollowerLag:\s+0\n", status)
    replication = run_kafka_class(QUORUM, *address, "describe", "--replication")
    (row,) = [line.split() for line in replication.splitlines() if line.startswith("1 ")]
    assert (row[3], row[-1]) == ("0", "Leader")


def test_no_leader_needs_an_election(bootstrap: str) -> None:
    address = ("--bootstrap-server", bootstrap, "--election-type")
    one = ("--topic", TOPIC, "--partition", "0")
    told = run_kafka_class(ELECTION, *address, "unclean", *one)
    assert f"Valid replica already elected for partitions {TOPIC}-0" in told
    everything = run_kafka_class(ELECTION, *address, "preferred", "--all-topic-partitions")
    assert "Error" not in everything


def test_reassignment_to_the_same_node_is_complete_at_once(bootstrap: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    wish = {"topic": TOPIC, "partition": 0, "replicas": [1], "log_dirs": ["any"]}
    plan.write_text(json.dumps({"version": 1, "partitions": [wish]}))

    def run(*arguments: str) -> str:
        return run_kafka_class(REASSIGNMENT, "--bootstrap-server", bootstrap, *arguments)

    file = ("--reassignment-json-file", str(plan))
    started = run(*file, "--execute", "--throttle", "1000000")
    assert f"Successfully started partition reassignment for {TOPIC}-0" in started
    verified = run(*file, "--verify")
    assert f"Reassignment of partition {TOPIC}-0 is completed." in verified
    assert "Clearing broker-level throttles on broker 1" in verified
    assert "No partition reassignments found." in run("--list")

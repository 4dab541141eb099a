"""Java's Admin makes every call it has, to Headrace and to a real Kafka, and is answered alike.

A call is told by what came of it: ``ok`` with a few facts, or the class of the error. What differs
is listed here with its reason, so a new difference fails the test, and so does one that is gone.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from .broker_process import BrokerProcess
from .builds import java_class_path
from .kafka_tools import RealKafka, tools_missing

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.maven]

RUN_TIMEOUT_S = 240.0
NAME = "admin-surface"
NOT_SERVED = "UnsupportedVersionException"
"""What Java says of a call whose API is not advertised."""

DIFFERENCES: dict[str, tuple[str, str]] = {
    # The quorum has one voter, which stays.
    "removeRaftVoter unknown": ("VoterNotFoundException", NOT_SERVED),
    # There are no delegation tokens; Kafka has them, but not for clients without a name.
    "createDelegationToken": ("UnsupportedByAuthenticationException", NOT_SERVED),
    "describeDelegationToken": ("UnsupportedByAuthenticationException", NOT_SERVED),
    "renewDelegationToken": ("UnsupportedByAuthenticationException", NOT_SERVED),
    "expireDelegationToken": ("UnsupportedByAuthenticationException", NOT_SERVED),
    # There are no share groups and no streams groups.
    "describeShareGroups unknown": ("GroupIdNotFoundException", NOT_SERVED),
    "listShareGroupOffsets unknown": ("ok", NOT_SERVED),
    "alterShareGroupOffsets": ("ok", NOT_SERVED),
    "deleteShareGroupOffsets unknown": ("GroupIdNotFoundException", NOT_SERVED),
    "describeStreamsGroups unknown": ("GroupIdNotFoundException", NOT_SERVED),
}
"""(Kafka's outcome, ours) by call."""

COUNT_MIN = 100
"""Fewer calls than this mean that the program ended early."""


def outcomes(bootstrap_servers: str) -> dict[str, str]:
    command = ["java", "-cp", java_class_path(), "AdminSurface", bootstrap_servers, NAME]
    result = subprocess.run(command, capture_output=True, text=True, timeout=RUN_TIMEOUT_S)
    assert result.returncode == 0, result.stderr
    pairs = [line.partition("\t")[::2] for line in result.stdout.splitlines()]
    told = dict(pairs)
    assert len(told) == len(pairs) >= COUNT_MIN
    return told


def test_answers_are_those_of_kafka(tmp_path: Path) -> None:
    missing = tools_missing()
    if missing is not None:
        pytest.skip(missing)
    with BrokerProcess(tmp_path / "data") as broker:
        ours = outcomes(broker.bootstrap_servers)
    kafka = RealKafka(tmp_path / "kafka")
    kafka.format()
    with kafka:
        theirs = outcomes(kafka.bootstrap_servers)
    assert ours.keys() == theirs.keys()
    differing = {name: (theirs[name], ours[name]) for name in ours if theirs[name] != ours[name]}
    assert differing == DIFFERENCES

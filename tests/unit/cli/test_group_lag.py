"""Lags of many groups at once, with a double of the admin client."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("confluent_kafka")

from headrace.cli import group_lag
from headrace.cli.exit_codes import Failure
from headrace.cli.group_lag import committed_offsets, group_lags

COMMITTED = {
    "a": [("t", 0, 5), ("t", 1, 9), ("t", 2, -1)],
    "b": [("gone", 0, 3)],
    "c": [],
}


class Admin:
    """Knows what three groups have committed."""

    def list_consumer_group_offsets(self, requests: list[Any]) -> dict[str, Future[Any]]:
        (request,) = requests
        name = request.group_id
        future: Future[Any] = Future()
        places = [SimpleNamespace(topic=t, partition=p, offset=o) for t, p, o in COMMITTED[name]]
        future.set_result(SimpleNamespace(topic_partitions=places))
        return {name: future}


class Broker:
    """Refuses to speak of one group."""

    def result(self, future: Any, what: str) -> Any:
        if what == "group secret":
            raise Failure("not yours")
        return future.result()


BROKER: Any = Broker()
ADMIN: Any = Admin()


@pytest.fixture(autouse=True)
def ends(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {("t", 0): 8, ("t", 1): 9, ("t", 2): 4}
    monkeypatch.setattr(group_lag, "end_offsets", lambda broker, admin, topics: found)


def test_commits_of_one_group() -> None:
    assert committed_offsets(BROKER, ADMIN, "a") == {("t", 0): 5, ("t", 1): 9}


def test_lag_is_that_of_all_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_lag, "GROUPS_AT_ONCE", 2)
    assert group_lags(BROKER, ADMIN, ["a", "b", "c"]) == {"a": 3, "b": None, "c": None}


def test_group_that_is_hidden_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMITTED, "secret", [])
    assert group_lags(BROKER, ADMIN, ["secret", "a"]) == {"secret": None, "a": 3}


def test_no_groups_no_questions() -> None:
    assert group_lags(BROKER, ADMIN, []) == {}

"""Positions as offsets of a group: only what changed, and never a reason to fail."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.pipeline.jobs.lag_group import LagGroup, table_group

confluent_kafka = pytest.importorskip("confluent_kafka")


class Admin:
    """Keeps what it was asked for."""

    def __init__(self, error: Exception | None = None, refusal: str | None = None) -> None:
        self.written: list[list[tuple[str, int, int]]] = []
        self._error = error
        self._refusal = refusal

    def alter_consumer_group_offsets(self, requests: list[Any]) -> dict[str, Future[Any]]:
        (request,) = requests
        places = request.topic_partitions
        self.written.append([(each.topic, each.partition, each.offset) for each in places])
        future: Future[Any] = Future()
        if self._error is not None:
            future.set_exception(self._error)
        else:
            answers = [SimpleNamespace(error=self._refusal) for _ in places]
            future.set_result(SimpleNamespace(topic_partitions=answers))
        return {request.group_id: future}


def test_group_of_a_table_topic() -> None:
    assert table_group("orders") == "headrace-table-orders"


def test_only_changes_are_written() -> None:
    admin = Admin()
    group = LagGroup("g", {}, admin)
    group.write({"t": {"0": 5, "1": 7}})
    group.write({"t": {"0": 5, "1": 7}})
    group.write({"t": {"0": 6, "1": 7}})
    assert admin.written == [[("t", 0, 5), ("t", 1, 7)], [("t", 0, 6)]]


@pytest.mark.parametrize(
    "admin",
    [Admin(confluent_kafka.KafkaException("down")), Admin(TimeoutError()), Admin(None, "denied")],
)
def test_failure_is_logged_and_tried_again_with_the_next_batch(
    admin: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    group = LagGroup("g", {}, admin)
    group.write({"t": {"0": 5}})
    group.write({"t": {"0": 5}})
    assert len(admin.written) == 2
    assert "the lag of group g is not shown" in caplog.text

"""Questions to a client that forgets what it knew while its broker was away. Without a broker."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("confluent_kafka")

from confluent_kafka import KafkaError, KafkaException

from headrace.model.topic import TopicPartition
from headrace.pipeline import broker_view
from headrace.pipeline.broker_view import BrokerView
from headrace.pipeline.errors import BrokerUnreachable, TopicMissing

ADDRESS = TopicPartition("events", 0)
SETTINGS = {"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": "500"}


class ForgetfulClient:
    """Knows no leader of any partition for some questions, but which topics there are."""

    def __init__(self, unknown_times: int, partitions: int = 1) -> None:
        self.asked = 0
        self._unknown_times = unknown_times
        self._partitions = partitions

    def list_offsets(self, request: dict[Any, Any], **_: Any) -> dict[Any, Any]:
        self.asked += 1
        if self.asked <= self._unknown_times:
            return dict.fromkeys(request, failed(KafkaError.UNKNOWN_TOPIC_OR_PART))
        return dict.fromkeys(request, done(SimpleNamespace(offset=7)))

    def describe_topics(self, topics: Any, **_: Any) -> dict[str, Any]:
        described = SimpleNamespace(
            partitions=[SimpleNamespace(id=number) for number in range(self._partitions)]
        )
        return {"events": done(described)}

    def poll(self, seconds: float) -> None:
        """Nothing to tell."""


def done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def failed(code: int) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(KafkaException(KafkaError(code)))
    return future


def view_with(client: ForgetfulClient, monkeypatch: pytest.MonkeyPatch) -> BrokerView:
    monkeypatch.setattr(broker_view, "RETRY_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(BrokerView, "_make_admin", lambda self, settings: client)
    return BrokerView(SETTINGS)


def test_a_topic_that_is_there_is_asked_about_again(monkeypatch: pytest.MonkeyPatch) -> None:
    client = ForgetfulClient(unknown_times=3)
    assert view_with(client, monkeypatch).earliest([ADDRESS]) == {ADDRESS: 7}
    assert client.asked == 4


def test_a_partition_that_is_not_there_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    client = ForgetfulClient(unknown_times=3, partitions=0)
    with pytest.raises(TopicMissing, match="partition 0 of topic events"):
        view_with(client, monkeypatch).earliest([ADDRESS])
    assert client.asked == 1


def test_a_broker_that_never_finds_its_leaders_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not as a missing topic: nobody may take that for a reason to forget the topic."""
    client = ForgetfulClient(unknown_times=10**9)
    with pytest.raises(BrokerUnreachable, match="partition 0 of topic events"):
        view_with(client, monkeypatch).latest([ADDRESS], is_committed=True)

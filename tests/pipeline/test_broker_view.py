"""What a running broker tells the pipeline."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from headrace.model.errors import InvalidRegularExpression
from headrace.model.topic import TopicPartition
from headrace.pipeline.broker_view import LOG_DIRECTORY_SECONDS, BrokerView
from headrace.pipeline.errors import BrokerUnreachable, TopicMissing, UnusableClientOption
from headrace.storage.metadata_files import parse_properties
from headrace.testing import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOBODY = {"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": "700"}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        broker.create_topic("events", 3)
        broker.create_topic("events.late")
        broker.create_topic("_other")
        yield broker


@pytest.fixture
def view(broker: Broker) -> Iterator[BrokerView]:
    with BrokerView({"bootstrap.servers": broker.bootstrap_servers}) as view:
        yield view


def test_partitions_by_name(view: BrokerView):
    assert view.partitions(["events", "_other"]) == {"events": [0, 1, 2], "_other": [0]}
    assert view.partitions([]) == {}


def test_partitions_by_pattern_match_whole_names(view: BrokerView):
    assert view.partitions(pattern="events") == {"events": [0, 1, 2]}
    assert view.partitions(pattern=r"ev.*|_o.*").keys() == {"events", "events.late", "_other"}
    assert view.partitions(pattern="nothing.*") == {}
    with pytest.raises(InvalidRegularExpression, match="subscribePattern"):
        view.partitions(pattern="(")


@pytest.mark.parametrize("name", ["missing", "a b", "../x"])
def test_missing_topic_is_named_and_not_created(view: BrokerView, name: str):
    with pytest.raises(TopicMissing, match=f"topic {name}"):
        view.partitions(["events", name])
    assert view.partitions(pattern="missing") == {}


def test_missing_partition_is_named(view: BrokerView):
    for missing in (TopicPartition("events", 9), TopicPartition("missing", 0)):
        with pytest.raises(TopicMissing, match=f"partition {missing.partition} of"):
            view.earliest([missing])
        with pytest.raises(TopicMissing):
            view.latest([TopicPartition("events", 0), missing], is_committed=True)


def test_offsets_with_an_open_transaction(broker: Broker, view: BrokerView):
    topic = broker.create_topic("open")
    settings = {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "view"}
    producer = Producer(settings)
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"x", timestamp=5000)
    producer.flush()
    address = TopicPartition(topic, 0)
    assert view.earliest([address]) == {address: 0}
    assert view.latest([address], is_committed=False) == {address: 1}
    assert view.latest([address], is_committed=True) == {address: 0}
    assert view.at_time({address: 4000}) == {address: 0}
    assert view.at_time({address: 6000}) == {address: None}
    producer.abort_transaction()
    assert view.latest([address], is_committed=True) == {address: 2}


def test_broker_tells_where_its_files_are(broker: Broker, view: BrokerView):
    assert view.log_directory() == broker.directory
    with open(f"{broker.directory}/meta.properties") as file:
        assert view.cluster_id() == parse_properties(file.read())["cluster.id"]


def test_where_the_files_are_is_asked_once_in_a_while(
    broker: Broker, view: BrokerView, monkeypatch: pytest.MonkeyPatch
):
    asked = []
    ask = view._ask_log_directory
    monkeypatch.setattr(view, "_ask_log_directory", lambda: (asked.append(1), ask())[1])
    for _ in range(3):
        assert view.log_directory() == broker.directory
    assert len(asked) == 1
    view.forget_log_directory()
    assert view.log_directory() == broker.directory
    assert len(asked) == 2
    later = time.monotonic() + LOG_DIRECTORY_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert view.log_directory() == broker.directory
    assert len(asked) == 3


def test_topic_made_anew_has_another_id(broker: Broker, view: BrokerView):
    broker.create_topic("twice")
    first = view.topic_id("twice")
    broker.call(lambda server: server.broker.topic_changes.delete("twice"))
    broker.create_topic("twice")
    assert len(first) == 16
    assert view.topic_id("twice") != first


def test_no_broker_is_an_error_after_the_time_out():
    started = time.monotonic()
    with BrokerView(NOBODY) as view, pytest.raises(BrokerUnreachable, match=r"at 127\.0\.0\.1:1"):
        view.cluster_id()
    assert time.monotonic() - started < 20


def test_broker_that_comes_back_is_waited_for(tmp_path: Path):
    with Broker(directory=str(tmp_path)) as first:
        first.create_topic("t")
        port, address = first.port, first.bootstrap_servers
        view = BrokerView({"bootstrap.servers": address, "request.timeout.ms": "1000"})
        cluster_id = view.cluster_id()
    listener = f"kafka://127.0.0.1:{port}"
    with Broker(directory=str(tmp_path), listeners=[listener]):
        assert view.cluster_id() == cluster_id
        assert view.partitions(["t"]) == {"t": [0]}


def test_unknown_option_is_named():
    with pytest.raises(UnusableClientOption, match=r"ssl\.nonsense"):
        BrokerView({**NOBODY, "ssl.nonsense": "1"})


def test_closed_view_says_so():
    view = BrokerView(NOBODY)
    view.close()
    with pytest.raises(Exception, match="closed"):
        view.cluster_id()

"""The HTTP listener of a broker that real clients use: the numbers are the right ones."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from prometheus_client.parser import text_string_to_metric_families

from headrace.testing import Broker
from tests.interop.deadline import wait_until
from tests.wire.calls import FETCH, batch, fetch_request, produce
from tests.wire.raw_client import RawClient
from tests.wire.transactional_producer import Producer as TransactionalProducer

if TYPE_CHECKING:
    from collections.abc import Iterator

ANSWER_SECONDS_MAX = 10.0
INVALID_PRODUCER_EPOCH, PRODUCER_FENCED = 47, 90


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(http=True) as broker:
        yield broker


def get(broker: Broker, page: str) -> tuple[str, str]:
    """Content type and text of a page."""
    with urllib.request.urlopen(broker.http_url + page, timeout=ANSWER_SECONDS_MAX) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


class Scrape:
    """One scrape; ``scrape("name", topic="t")`` is the value of a sample, 0 if there is none."""

    def __init__(self, broker: Broker) -> None:
        self._samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(get(broker, "/metrics")[1])
            for sample in family.samples
        }

    def __call__(self, name: str, **labels: str) -> float:
        return self._samples.get((f"headrace_{name}", frozenset(labels.items())), 0.0)

    def names(self) -> set[str]:
        return {name for name, _ in self._samples}


def write(broker: Broker, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 50})
    for number in range(count):
        producer.produce(topic, b"%d" % number, partition=0)
    assert producer.flush(ANSWER_SECONDS_MAX) == 0


def test_health(broker: Broker) -> None:
    assert get(broker, "/health") == ("text/plain; charset=utf-8", "ok\n")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(broker, "/elsewhere")


def test_what_goes_in_and_out_is_counted(broker: Broker) -> None:
    topic = broker.create_topic("counted")
    sent = batch(b"a", b"b", b"c")
    with RawClient(broker.port) as client:
        produce(client, topic, {0: sent})
        produce(client, topic, {0: batch(b"d")[:-1]})
        answer = client.call(FETCH, 12, fetch_request(topic, {0: 0}))
    assert bytes(answer.responses[0].partitions[0].records)[16:] == sent[16:]
    scrape = Scrape(broker)
    assert scrape("topic_bytes_in_total", topic=topic) == len(sent)
    assert scrape("topic_records_in_total", topic=topic) == 3
    assert scrape("topic_batches_in_total", topic=topic) == 1
    assert scrape("topic_bytes_out_total", topic=topic) == len(sent)
    assert scrape("produce_errors_total") == 1
    assert scrape("log_size_bytes", topic=topic, partition="0") == len(sent)
    assert scrape("log_start_offset", topic=topic, partition="0") == 0
    assert scrape("log_end_offset", topic=topic, partition="0") == 3
    assert scrape("request_seconds_count", api="Produce") == 2
    assert scrape("request_seconds_bucket", api="Fetch", le="+Inf") == 1
    assert scrape("open_segment_files") > 0
    assert "process_resident_memory_bytes" in scrape.names()


def test_group_of_a_real_client_has_members_and_lag(broker: Broker) -> None:
    topic = broker.create_topic("lagging")
    write(broker, topic, 10)
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "laggards",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    assert len(consumer.consume(10, ANSWER_SECONDS_MAX)) == 10
    consumer.commit(offsets=[TopicPartition(topic, 0, 4)], asynchronous=False)
    scrape = Scrape(broker)
    where = {"group": "laggards", "topic": topic, "partition": "0"}
    assert scrape("topic_records_in_total", topic=topic) == 10
    assert scrape("group_members", group="laggards", kind="classic") == 1
    assert scrape("group_committed_offset", **where) == 4
    assert scrape("group_lag_records", **where) == 6
    assert scrape("connections_open") >= 1
    consumer.close()
    assert Scrape(broker)("group_members", group="laggards", kind="classic") == 0


def test_syncs_of_a_topic_that_demands_them_are_timed(broker: Broker) -> None:
    topic = broker.create_topic("safe", config={"durability": "fsync"})
    before = Scrape(broker)
    sent = batch(b"a")
    with RawClient(broker.port) as client:
        produce(client, topic, {0: sent})
        produce(client, topic, {0: sent})
    after = Scrape(broker)
    assert after("wal_frames_total") - before("wal_frames_total") == 2
    assert after("wal_bytes_total") - before("wal_bytes_total") > 2 * len(sent)
    assert after("wal_sync_seconds_count") - before("wal_sync_seconds_count") == 2
    assert after("wal_sync_seconds_sum") > before("wal_sync_seconds_sum")
    assert after("wal_size_bytes") > 2 * len(sent)


def test_rolled_and_deleted_segments_and_their_syncs_are_counted(broker: Broker) -> None:
    topic = broker.create_topic("rolling", config={"segment.bytes": str(2**20)})
    before = Scrape(broker)
    with RawClient(broker.port) as client:
        for _ in range(3):
            produce(client, topic, {0: batch(b"x" * 600_000)})
    log = broker.call(lambda server: server.broker.topics.partition(topic, 0).log)
    broker.call(lambda _: log.delete_records_before(2))
    wait_until(
        lambda: Scrape(broker)("segment_sync_seconds_count") > before("segment_sync_seconds_count"),
        "a sync of a closed segment",
        ANSWER_SECONDS_MAX,
    )
    after = Scrape(broker)
    assert after("segments_rolled_total") - before("segments_rolled_total") == 2
    assert after("segments_deleted_total") - before("segments_deleted_total") == 2
    assert after("log_start_offset", topic=topic, partition="0") == 2


def test_connections_and_parked_fetches_come_and_go(broker: Broker) -> None:
    topic = broker.create_topic("quiet")
    before = Scrape(broker)
    with RawClient(broker.port) as client:
        request = fetch_request(topic, {0: 0}, max_wait_ms=60_000, session_epoch=0)
        client.send(FETCH, 12, request)
        wait_until(
            lambda: Scrape(broker)("parked_fetches") == before("parked_fetches") + 1,
            "the fetch is parked",
            ANSWER_SECONDS_MAX,
        )
        during = Scrape(broker)
    assert during("fetch_sessions") == before("fetch_sessions") + 1
    assert during("connections_open") == before("connections_open") + 1
    assert during("connections_opened_total") == before("connections_opened_total") + 1
    wait_until(
        lambda: Scrape(broker)("connections_open") == before("connections_open"),
        "the connection is closed",
        ANSWER_SECONDS_MAX,
    )
    assert Scrape(broker)("parked_fetches") == before("parked_fetches")


def test_deleted_topic_is_no_longer_reported(broker: Broker) -> None:
    topic = broker.create_topic("passing")
    with RawClient(broker.port) as client:
        produce(client, topic, {0: batch(b"a")})
    assert Scrape(broker)("topic_records_in_total", topic=topic) == 1
    broker.call(lambda server: server.broker.topic_changes.delete(topic))
    assert Scrape(broker)("topic_records_in_total", topic=topic) == 0
    assert Scrape(broker)("log_end_offset", topic=topic, partition="0") == 0


def test_transactions_are_counted_and_timed(broker: Broker) -> None:
    topic = broker.create_topic("transactional")
    first = TransactionalProducer(broker.port, "x")
    with first.client:
        assert first.send(topic, {0: b"a"}, 12) == {0}
        assert first.end(is_commit=True) == 0
        assert first.send(topic, {0: b"b"}, 12) == {0}
        scrape = Scrape(broker)
        assert scrape("transactions_open", state="Ongoing") == 1
        assert scrape("transaction_oldest_open_seconds") > 0
        with TransactionalProducer(broker.port, "x").client:
            assert first.end(is_commit=True) == PRODUCER_FENCED
    scrape = Scrape(broker)
    assert scrape("transactions_open", state="Ongoing") == 0
    assert scrape("transaction_oldest_open_seconds") == 0
    assert scrape("transactions_ended_total", result="committed") == 1
    assert scrape("transactions_ended_total", result="aborted") == 1
    assert scrape("transactions_ended_total", result="timed_out") == 0
    assert scrape("producers_fenced_total") == 1


def test_batch_of_an_old_epoch_counts_as_fenced(broker: Broker) -> None:
    topic = broker.create_topic("idempotent")
    with RawClient(broker.port) as client:
        for epoch, code in ((1, 0), (0, INVALID_PRODUCER_EPOCH)):
            sent = batch(b"x", producer_id=7, producer_epoch=epoch, base_sequence=0)
            assert produce(client, topic, {0: sent})[0].error_code == code
    assert Scrape(broker)("producers_fenced_total") == 1

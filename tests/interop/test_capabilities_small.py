"""Capabilities that one small scene shows, with confluent-kafka against a broker in this process.

What needs more than one client or a rebalance in the middle is in ``scenarios``.
"""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from headrace.testing import Broker

from .broker_process import BrokerProcess
from .deadline import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import ModuleType

    from confluent_kafka import KafkaError, Message

pytestmark = pytest.mark.interop

TIMEOUT_S = 20.0
QUIET_S = 0.3
RECORDS = [f"record-{number}".encode() for number in range(20)]


@pytest.fixture
def new_consumer(headrace_broker: Broker) -> Iterator[Callable[..., Consumer]]:
    """Make consumers that commit only when told to; they are closed at the end."""
    opened: list[Consumer] = []

    def make(group: str, topics: Sequence[str] = (), **settings: Any) -> Consumer:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        consumer = Consumer(
            {
                "bootstrap.servers": headrace_broker.bootstrap_servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 100,
                "session.timeout.ms": 6_000,
                "topic.metadata.refresh.interval.ms": 200,
                **named,
            }
        )
        opened.append(consumer)
        if topics:
            consumer.subscribe(list(topics))
        return consumer

    yield make
    for consumer in opened:
        consumer.close()


@pytest.fixture(scope="module")
def kafka_python() -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the library's own making
        import kafka
    return kafka


@pytest.fixture
def producer(headrace_broker: Broker) -> Iterator[Producer]:
    client = Producer({"bootstrap.servers": headrace_broker.bootstrap_servers, "linger.ms": 0})
    yield client
    assert client.flush(TIMEOUT_S) == 0


def send(producer: Producer, topic: str, values: Sequence[bytes], partitions: int = 1) -> None:
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % partitions)
    assert producer.flush(TIMEOUT_S) == 0


def receive(consumers: Sequence[Consumer], count: int) -> list[list[Message]]:
    """Poll the consumers in turn until they have ``count`` records between them."""
    found: list[list[Message]] = [[] for _ in consumers]

    def step() -> bool:
        for messages, consumer in zip(found, consumers, strict=True):
            messages += [m for m in consumer.consume(100, 0.05) if m.error() is None]
        return sum(map(len, found)) >= count

    wait_until(step, f"{count} records", TIMEOUT_S, lambda: [len(m) for m in found], 0)
    return found


def values_of(messages: Sequence[Message]) -> list[bytes | None]:
    return [message.value() for message in messages]


def share(consumers: Sequence[Consumer]) -> None:
    """Poll until every consumer owns a partition."""

    def step() -> bool:
        for consumer in consumers:
            consumer.poll(0.05)
        return all(consumer.assignment() for consumer in consumers)

    wait_until(step, "all members own something", TIMEOUT_S, interval_s=0)


def new_name(word: str) -> str:
    return f"{word}-{uuid4().hex[:8]}"


# --- models -------------------------------------------------------------------------------------


def test_each_record_goes_to_one_competing_consumer_and_not_again_after_the_commit(
    headrace_broker: Broker, producer: Producer, new_consumer: Callable[..., Consumer]
) -> None:
    topic = headrace_broker.create_topic(new_name("queue"), partitions=2)
    workers = [new_consumer(topic, [topic]) for _ in range(2)]
    share(workers)
    send(producer, topic, RECORDS, partitions=2)
    first, second = receive(workers, len(RECORDS))
    assert first
    assert second
    assert Counter(values_of(first + second)) == Counter(RECORDS)
    for worker in workers:
        worker.commit(asynchronous=False)
        worker.close()
    late = new_consumer(topic, [topic])
    share([late])
    assert late.consume(1, QUIET_S) == []


def test_records_stay_for_groups_that_come_later(
    headrace_topic: str, producer: Producer, new_consumer: Callable[..., Consumer]
) -> None:
    send(producer, headrace_topic, RECORDS)
    for group in (new_name("early"), new_name("late")):
        consumer = new_consumer(group, [headrace_topic])
        assert values_of(receive([consumer], len(RECORDS))[0]) == RECORDS
        consumer.commit(asynchronous=False)


def test_every_group_gets_all_and_its_members_share(
    headrace_broker: Broker, producer: Producer, new_consumer: Callable[..., Consumer]
) -> None:
    topic = headrace_broker.create_topic(new_name("shared"), partitions=2)
    alone = [new_consumer(new_name("alone"), [topic])]
    group = new_name("pair")
    pair = [new_consumer(group, [topic]) for _ in range(2)]
    share(alone + pair)
    send(producer, topic, RECORDS, partitions=2)
    assert Counter(values_of(receive(alone, len(RECORDS))[0])) == Counter(RECORDS)
    first, second = receive(pair, len(RECORDS))
    assert {m.partition() for m in first}.isdisjoint({m.partition() for m in second})
    assert Counter(values_of(first + second)) == Counter(RECORDS)


def test_one_consumer_reads_several_topics_by_name_and_by_pattern(
    headrace_broker: Broker, producer: Producer, new_consumer: Callable[..., Consumer]
) -> None:
    prefix = new_name("several")
    topics = [headrace_broker.create_topic(f"{prefix}-{word}") for word in ("a", "b")]
    for topic in topics:
        send(producer, topic, [topic.encode()])
    expected = sorted(topic.encode() for topic in topics)
    for subscription in (topics, [f"^{prefix}-.*"]):
        consumer = new_consumer(new_name("reader"), subscription)
        assert sorted(map(bytes, values_of(receive([consumer], 2)[0]))) == expected


def test_many_producers_write_one_queue_each_in_its_own_order(
    headrace_broker: Broker, headrace_topic: str, new_consumer: Callable[..., Consumer]
) -> None:
    writers, count = 4, 50

    def write(writer: int) -> None:
        client = Producer({"bootstrap.servers": headrace_broker.bootstrap_servers})
        for number in range(count):
            client.produce(headrace_topic, f"{writer}:{number}".encode())
        client.flush(TIMEOUT_S)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT_S)
    consumer = new_consumer(headrace_topic, [headrace_topic])
    found = receive([consumer], writers * count)[0]
    assert [message.offset() for message in found] == list(range(writers * count))
    for writer in range(writers):
        own = [v for v in values_of(found) if v is not None and v.startswith(b"%d:" % writer)]
        assert own == [f"{writer}:{number}".encode() for number in range(count)]


def test_burst_is_taken_at_once_and_read_later_at_the_readers_pace(
    headrace_topic: str, producer: Producer, new_consumer: Callable[..., Consumer]
) -> None:
    burst = [b"line %d" % number for number in range(2_000)]
    send(producer, headrace_topic, burst)  # acknowledged, though nobody listens yet
    consumer = new_consumer(headrace_topic, [headrace_topic])
    found: list[bytes | None] = []
    while len(found) < len(burst):
        found += values_of(consumer.consume(250, TIMEOUT_S))
    assert found == burst


# --- producers ----------------------------------------------------------------------------------


def test_partition_is_chosen_by_number_by_key_or_spread(
    headrace_broker: Broker,
) -> None:
    topic = headrace_broker.create_topic(new_name("spread"), partitions=4)
    places: list[tuple[bytes | None, int | None]] = []

    def note(error: KafkaError | None, message: Message) -> None:
        assert error is None
        places.append((message.key(), message.partition()))

    client = Producer(
        {
            "bootstrap.servers": headrace_broker.bootstrap_servers,
            "sticky.partitioning.linger.ms": 0,
        }
    )
    client.produce(topic, b"explicit", key=b"ignored", partition=3, on_delivery=note)
    client.flush(TIMEOUT_S)
    assert places == [(b"ignored", 3)]
    places.clear()
    keys = [b"k%d" % (number % 8) for number in range(40)]
    for key in keys:
        client.produce(topic, b"keyed", key=key, on_delivery=note)
    client.flush(TIMEOUT_S)
    assert len(set(places)) == len(set(keys)), "a key went to two partitions"
    places.clear()
    for _ in range(200):
        client.produce(topic, b"keyless", on_delivery=note)
    client.flush(TIMEOUT_S)
    assert {partition for _, partition in places} == {0, 1, 2, 3}


def test_partitioner_of_the_users_own_decides(
    headrace_broker: Broker, kafka_python: ModuleType
) -> None:
    topic = headrace_broker.create_topic(new_name("custom"), partitions=3)

    class ByLengthOfKey(kafka_python.partitioner.Partitioner):  # type: ignore[misc, name-defined]
        def partition(
            self,
            topic: str,
            key: bytes,
            key_bytes: bytes,
            value: Any,
            value_bytes: Any,
            cluster: Any,
        ) -> int:
            return len(key) % len(cluster.partitions_for_topic(topic))

    client = kafka_python.KafkaProducer(
        bootstrap_servers=headrace_broker.bootstrap_servers, partitioner=ByLengthOfKey()
    )
    try:
        for key in (b"1", b"22", b"333"):
            sent = client.send(topic, b"value", key=key).get(TIMEOUT_S)
            assert sent.partition == len(key) % 3
    finally:
        client.close()


def test_lingering_producer_sends_batches(headrace_broker: Broker, headrace_topic: str) -> None:
    client = Producer({"bootstrap.servers": headrace_broker.bootstrap_servers, "linger.ms": 100})
    send(client, headrace_topic, RECORDS * 10)
    counted = headrace_broker.call(lambda server: server.metrics.topics[headrace_topic])
    assert counted.records_in == len(RECORDS) * 10
    assert counted.batches_in <= counted.records_in // 10


def test_send_waits_or_calls_back_and_errors_surface(
    headrace_broker: Broker, producer: Producer
) -> None:
    topic = headrace_broker.create_topic(new_name("small"), config={"max.message.bytes": "1000"})
    outcomes: list[str] = []

    def note(error: KafkaError | None, message: Message) -> None:
        outcomes.append("ok" if error is None else error.name())

    producer.produce(topic, b"waited for")
    assert producer.flush(TIMEOUT_S) == 0
    for value in (b"called back for", b"x" * 5_000):
        producer.produce(topic, value, on_delivery=note)
        assert producer.flush(TIMEOUT_S) == 0
    assert outcomes == ["ok", "MSG_SIZE_TOO_LARGE"]


def test_producer_tries_again_until_the_broker_is_back(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        client = Producer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "retries": 1_000,
                "retry.backoff.ms": 100,
                "reconnect.backoff.max.ms": 200,
            }
        )
        send(client, "retried", [b"before"])
        broker.kill()
        client.produce("retried", b"meanwhile")
        assert client.flush(QUIET_S) == 1, "it cannot have been sent"
        broker.start()
        assert client.flush(TIMEOUT_S) == 0
        reader = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "unused"})
        reader.assign([TopicPartition("retried", 0, 0)])
        assert values_of(receive([reader], 2)[0]) == [b"before", b"meanwhile"]
        reader.close()


# --- consumers and delivery ---------------------------------------------------------------------


def test_offsets_are_committed_by_hand_or_by_the_client(
    headrace_topic: str, producer: Producer, new_consumer: Callable[..., Consumer]
) -> None:
    send(producer, headrace_topic, RECORDS)
    place = [TopicPartition(headrace_topic, 0)]
    by_hand = new_consumer(new_name("manual"), [headrace_topic])
    message = receive([by_hand], len(RECORDS))[0][6]
    assert by_hand.committed(place, TIMEOUT_S)[0].offset < 0, "nothing was committed yet"
    by_hand.commit(message=message, asynchronous=False)
    by_hand.commit(message=message, asynchronous=False)  # the same again changes nothing
    assert by_hand.committed(place, TIMEOUT_S)[0].offset == 7
    automatic = new_consumer(
        new_name("automatic"),
        [headrace_topic],
        enable_auto_commit=True,
        auto_commit_interval_ms=50,
    )
    receive([automatic], len(RECORDS))

    def is_committed() -> bool:
        automatic.poll(0.05)
        return automatic.committed(place, TIMEOUT_S)[0].offset == len(RECORDS)

    wait_until(is_committed, "committed by itself", TIMEOUT_S)


def take_and_fail(consumer: Consumer, *, commit_first: bool) -> bytes | None:
    """Take one record and end before it is processed, as a worker that crashes does."""
    message = consumer.poll(TIMEOUT_S)
    assert message is not None
    if commit_first:
        consumer.commit(message=message, asynchronous=False)
    consumer.close()
    return message.value()


def test_commit_before_processing_is_at_most_once(
    headrace_topic: str, producer: Producer, new_consumer: Callable[..., Consumer]
) -> None:
    send(producer, headrace_topic, RECORDS[:2])
    failed = new_consumer(headrace_topic, [headrace_topic])
    assert take_and_fail(failed, commit_first=True) == RECORDS[0]
    successor = new_consumer(headrace_topic, [headrace_topic])
    assert values_of(receive([successor], 1)[0]) == [RECORDS[1]]


def test_commit_after_processing_is_at_least_once(
    headrace_topic: str, producer: Producer, new_consumer: Callable[..., Consumer]
) -> None:
    send(producer, headrace_topic, RECORDS[:2])
    failed = new_consumer(headrace_topic, [headrace_topic])
    assert take_and_fail(failed, commit_first=False) == RECORDS[0]
    successor = new_consumer(headrace_topic, [headrace_topic])
    assert values_of(receive([successor], 2)[0]) == RECORDS[:2]


def test_records_of_a_key_are_read_in_the_order_they_were_sent(
    headrace_broker: Broker, producer: Producer, new_consumer: Callable[..., Consumer]
) -> None:
    topic = headrace_broker.create_topic(new_name("keyed"), partitions=4)
    for number in range(60):
        producer.produce(topic, b"%d" % number, key=b"key-%d" % (number % 6))
    assert producer.flush(TIMEOUT_S) == 0
    found = receive([new_consumer(topic, [topic])], 60)[0]
    for key in range(6):
        own = [int(m.value() or b"") for m in found if m.key() == b"key-%d" % key]
        assert own == list(range(key, 60, 6))


def test_consumer_without_a_name_belongs_to_no_group(
    headrace_broker: Broker,
    headrace_topic: str,
    producer: Producer,
    kafka_python: ModuleType,
) -> None:
    """docs/groups.md: there is no default group; each such consumer gets everything."""
    send(producer, headrace_topic, RECORDS)
    groups_before = group_names(headrace_broker)
    for _ in range(2):
        nameless = kafka_python.KafkaConsumer(
            headrace_topic,
            bootstrap_servers=headrace_broker.bootstrap_servers,
            auto_offset_reset="earliest",
        )
        try:
            assert [next(nameless).value for _ in RECORDS] == RECORDS
        finally:
            nameless.close()
    assert group_names(headrace_broker) == groups_before


def group_names(broker: Broker) -> set[str]:
    return broker.call(lambda server: {each.group for each in server.broker.groups.group_samples()})


def test_topic_made_on_first_use_has_the_default_number_of_partitions(tmp_path: Path) -> None:
    with Broker({"num.partitions": "3"}, directory=str(tmp_path)) as broker:
        client = Producer({"bootstrap.servers": broker.bootstrap_servers})
        client.produce("made-on-first-use", b"value")
        assert client.flush(TIMEOUT_S) == 0
        assert (
            len(client.list_topics("made-on-first-use").topics["made-on-first-use"].partitions) == 3
        )


def test_memory_topic_serves_records_and_is_empty_after_a_restart(tmp_path: Path) -> None:
    kept_offsets = {}
    for run in (1, 2):
        with Broker(directory=str(tmp_path)) as broker:
            client = Producer({"bootstrap.servers": broker.bootstrap_servers})
            if run == 1:
                broker.create_topic("volatile", config={"storage": "memory"})
                broker.create_topic("persistent")
                for topic in ("volatile", "persistent"):
                    send(client, topic, RECORDS)
            reader = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "unused"})
            for topic in ("volatile", "persistent"):
                place = TopicPartition(topic, 0, 0)
                low, high = reader.get_watermark_offsets(place, TIMEOUT_S)
                kept_offsets[run, topic] = high - low
                if high > low:
                    reader.assign([place])
                    assert values_of(receive([reader], high)[0]) == RECORDS
            reader.close()
    assert kept_offsets[1, "volatile"] == kept_offsets[1, "persistent"] == len(RECORDS)
    assert kept_offsets[2, "persistent"] == len(RECORDS)
    assert kept_offsets[2, "volatile"] == 0

"""``format("headrace")`` in real queries of Spark over a real broker."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from pyspark.errors import PySparkException

from headrace.testing import Broker

from .queries import Batches, batch, rows_in_order, run_available_now, start, stream
from .topics import (
    FIRST_MS,
    add_partitions,
    age_out,
    delete_topic,
    fill,
    new_topic,
    producer,
    send_in_transaction,
)

COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]


def consumed(broker, topic, partitions):
    """The same records by another client, in the order of partitions and offsets."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "none",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    found, at_end = [], set()
    while len(at_end) < partitions:
        message = consumer.poll(20.0)
        assert message is not None
        if message.error() is None:
            found.append(message)
        else:
            at_end.add(message.partition())
    consumer.close()
    return sorted(found, key=lambda message: (message.partition(), message.offset()))


def as_tuple(row):
    headers = [(header.key, header.value) for header in row.headers] if row.headers else None
    milliseconds = int(row.timestamp.timestamp() * 1000 + 0.5)
    return row.key, row.value, row.topic, row.partition, row.offset, milliseconds, headers


def as_read_by_others(message):
    headers = [(name, value) for name, value in message.headers() or []] or None
    return (
        message.key(),
        message.value(),
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        headers,
    )


@pytest.mark.slow
@pytest.mark.parametrize("path", ["storage", "fetch"])
def test_every_column_of_every_record(spark, broker, path):
    topic = new_topic(broker, 3)
    fill(broker, topic, 200, "zstd")
    options = {"subscribe": topic, "includeHeaders": "true", "headrace.read.path": path}
    frame = batch(spark, broker, options)
    assert frame.columns == [*COLUMNS, "headers"]
    found = [as_tuple(row) for row in rows_in_order(frame)]
    assert found == [as_read_by_others(message) for message in consumed(broker, topic, 3)]


def test_headers_only_if_asked_for(spark, broker):
    topic = new_topic(broker)
    assert batch(spark, broker, {"subscribe": topic}).columns == COLUMNS


def test_a_schema_of_the_user_chooses_columns(spark, broker):
    topic = new_topic(broker, 1)
    fill(broker, topic, 3)
    schema = "offset long, topic string, key binary"
    frame = batch(spark, broker, {"subscribe": topic}, schema=schema)
    assert [tuple(row) for row in frame.collect()] == [
        (0, topic, None),
        (1, topic, b"key-1"),
        (2, topic, b"key-2"),
    ]


@pytest.mark.slow
def test_columns_that_need_no_decoding_have_the_right_number_of_rows(spark, broker):
    topic = new_topic(broker, 2)
    fill(broker, topic, 9)
    frame = batch(spark, broker, {"subscribe": topic}, schema="partition int")
    assert sorted(row.partition for row in frame.collect()) == [0] * 5 + [1] * 4


def test_filters_do_not_stick_to_the_source(spark, broker):
    topic = new_topic(broker, 1)
    fill(broker, topic, 10)
    frame = batch(spark, broker, {"subscribe": topic})
    assert frame.where("offset = 3").count() == 1
    assert frame.count() == 10
    assert frame.where("offset < 2").union(frame).count() == 12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "tasks"),
    [({}, 2), ({"minPartitions": "8"}, 8), ({"maxRecordsPerPartition": "10"}, 4)],
)
def test_the_number_of_tasks(spark, broker, options, tasks):
    topic = new_topic(broker, 2)
    fill(broker, topic, 40)
    frame = batch(spark, broker, {"subscribe": topic, **options})
    assert frame.rdd.getNumPartitions() == tasks
    assert frame.count() == 40


@pytest.mark.slow
def test_committed_records_only(spark, broker):
    topic = new_topic(broker, 1)
    send_in_transaction(broker, topic, 5, is_committed=True)
    send_in_transaction(broker, topic, 5, is_committed=False, first=5)
    for path in ("storage", "fetch"):
        options = {"subscribe": topic, "headrace.read.path": path}
        assert batch(spark, broker, options).count() == 10
        committed = {**options, "kafka.isolation.level": "read_committed"}
        values = [row.value for row in rows_in_order(batch(spark, broker, committed))]
        assert values == [b"%d" % number for number in range(5)]


@pytest.mark.slow
def test_small_batches_between_source_and_spark(spark, broker):
    topic = new_topic(broker, 1)
    fill(broker, topic, 100)
    options = {"subscribe": topic, "headrace.batch.rows.max": "7"}
    assert [row.offset for row in rows_in_order(batch(spark, broker, options))] == list(range(100))


def test_storage_that_is_not_in_reach(spark, broker, tmp_path):
    topic = new_topic(broker, 1)
    fill(broker, topic, 10)
    options = {"subscribe": topic, "headrace.storage.url": tmp_path.as_uri()}
    assert batch(spark, broker, options).count() == 10
    only_storage = {**options, "headrace.read.path": "storage"}
    with pytest.raises(PySparkException, match="StorageUnreachable"):
        batch(spark, broker, only_storage).count()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "InvalidSourceOption: exactly one of the options subscribe"),
        ({"subscribe": "TOPIC", "minPartitions": "many"}, "InvalidSourceOption: option minPart"),
        ({"subscribe": "TOPIC", "startingOffsets": "latest"}, "cannot start at the latest"),
        ({"subscribe": "TOPIC", "startingOffsets": '{"TOPIC": {"0": 1}}'}, "it lacks TOPIC-1"),
        ({"subscribe": "no-such-topic"}, "TopicMissing: .*no-such-topic"),
        ({"assign": '{"TOPIC": [0, 9]}'}, "TopicMissing: .*TOPIC-9"),
        (
            {"subscribe": "TOPIC", "startingOffsets": '{"TOPIC": {"0": 99, "1": 0}}'},
            "OffsetsOutOfRange: .*TOPIC-0 would begin at offset 99 and end at 5",
        ),
        (
            {"subscribe": "TOPIC", "endingOffsets": '{"TOPIC": {"0": 99, "1": 0}}'},
            "DataLoss: offsets 5 to 98 of TOPIC-0",
        ),
        ({"subscribe": "TOPIC", "startingTimestamp": "4000000000000"}, "NoOffsetAtTimestamp"),
    ],
)
def test_what_is_wrong_is_named(spark, broker, options, message):
    topic = new_topic(broker, 2)
    fill(broker, topic, 10)
    given = {name: value.replace("TOPIC", topic) for name, value in options.items()}
    with pytest.raises(PySparkException, match=message.replace("TOPIC", topic)):
        batch(spark, broker, given).count()


@pytest.mark.slow
def test_a_schema_with_other_columns_is_refused(spark, broker):
    topic = new_topic(broker, 1)
    with pytest.raises(
        PySparkException, match="UnsuitableColumns: there is no column offset strin"
    ):
        batch(spark, broker, {"subscribe": topic}, schema="offset string").count()


@pytest.mark.slow
def test_records_that_aged_out(spark, broker):
    topic = new_topic(broker, 1)
    fill(broker, topic, 20)
    age_out(broker, topic, 0, 8)
    assert [
        row.offset for row in rows_in_order(batch(spark, broker, {"subscribe": topic}))
    ] == list(range(8, 20))
    options = {"subscribe": topic, "startingOffsets": json.dumps({topic: {"0": 3}})}
    with pytest.raises(PySparkException, match="DataLoss: offsets 3 to 7"):
        batch(spark, broker, options).count()
    assert batch(spark, broker, {**options, "failOnDataLoss": "false"}).count() == 12


def test_a_damaged_batch_is_never_passed_over_silently(spark, own_broker):
    topic = new_topic(own_broker, 1)
    for first in (0, 10, 20):
        fill(own_broker, topic, 10, first=first)
    (segment,) = Path(own_broker.directory).rglob(f"{topic}-0/*.log")
    data = bytearray(segment.read_bytes())
    place = data.index(b"value-12")
    data[place : place + 5] = b"VALUE"
    segment.write_bytes(data)
    options = {"subscribe": topic, "headrace.read.path": "storage"}
    with pytest.raises(PySparkException, match="UndecodableRecords: offsets") as raised:
        batch(spark, own_broker, options).count()
    told = re.search(r"offsets (\d+) to (\d+) of", str(raised.value))
    assert told is not None
    # A producer may make two batches of ten records.
    first, last = map(int, told.groups())
    assert 10 <= first <= 12 <= last <= 19
    tolerant = {**options, "failOnDataLoss": "false"}
    offsets = [row.offset for row in rows_in_order(batch(spark, own_broker, tolerant))]
    assert offsets == [*range(first), *range(last + 1, 30)]


@pytest.mark.slow
def test_a_broker_that_is_not_there(spark, broker):
    with Broker() as gone:
        address = gone.bootstrap_servers
    options = {
        "subscribe": "t",
        "kafka.bootstrap.servers": address,
        "kafka.default.api.timeout.ms": "1000",
    }
    with pytest.raises(PySparkException, match="BrokerUnreachable"):
        batch(spark, broker, options).count()


# --- streams --------------------------------------------------------------------------------------


def test_available_now_in_limited_batches(spark, broker, tmp_path):
    topic = new_topic(broker, 2)
    fill(broker, topic, 100)
    frame = stream(spark, broker, {"subscribe": topic, "maxOffsetsPerTrigger": "30"})
    batches, progress = run_available_now(frame, tmp_path / "checkpoint")
    assert batches.sizes() == [30, 30, 30, 10]
    assert [row.offset for row in batches.all()] == [*range(50), *range(50)]
    last = json.loads(progress[0]["sources"][0]["latestOffset"])
    assert last[topic] == {"0": 50, "1": 50}  # the lag can be seen while there is one


@pytest.mark.slow
def test_a_query_goes_on_from_its_checkpoint(spark, broker, tmp_path):
    topic = new_topic(broker, 2)
    fill(broker, topic, 10)
    frame = stream(spark, broker, {"subscribe": topic})
    first, _ = run_available_now(frame, tmp_path)
    fill(broker, topic, 6, first=10)
    again, _ = run_available_now(frame, tmp_path)
    assert len(first.all()) == 10
    assert [(row.partition, row.offset) for row in again.all()] == [
        (partition, offset) for partition in (0, 1) for offset in (5, 6, 7)
    ]
    nothing, _ = run_available_now(frame, tmp_path)
    assert nothing.all() == []


@pytest.mark.slow
def test_a_batch_that_failed_is_read_again_with_the_same_rows(spark, broker, tmp_path):
    topic = new_topic(broker, 1)
    fill(broker, topic, 10)
    frame = stream(spark, broker, {"subscribe": topic})

    class Failing(Batches):
        def __call__(self, frame, batch_id):
            super().__call__(frame, batch_id)
            raise RuntimeError("after the rows were seen")

    failed = Failing()
    with pytest.raises(PySparkException, match="after the rows were seen"):
        run_available_now(frame, tmp_path, failed)
    fill(broker, topic, 5, first=10)
    again, _ = run_available_now(frame, tmp_path)
    assert again.rows[0] == failed.rows[0]
    assert [row.offset for row in again.all()] == list(range(15))


@pytest.mark.slow
def test_partitions_that_are_added_while_a_query_runs(spark, broker, tmp_path, eventually):
    topic = new_topic(broker, 1)
    fill(broker, topic, 4)
    batches = Batches()
    query = start(stream(spark, broker, {"subscribe": topic}), tmp_path, batches)
    try:
        eventually(lambda: len(batches.all()) == 4)
        add_partitions(broker, topic, 3)
        fill(broker, topic, 9)
        eventually(lambda: len(batches.all()) == 13)
    finally:
        query.stop()
    assert [row.partition for row in batches.all()] == [0] * 7 + [1] * 3 + [2] * 3


@pytest.mark.slow
def test_topics_that_appear_while_a_query_runs(spark, broker, tmp_path, eventually):
    topic = new_topic(broker, 1)
    fill(broker, topic, 4)
    batches = Batches()
    frame = stream(spark, broker, {"subscribePattern": f"{topic}.*"})
    query = start(frame, tmp_path, batches)
    try:
        eventually(lambda: len(batches.all()) == 4)
        later = broker.create_topic(f"{topic}-later", 1)
        fill(broker, later, 3)
        eventually(lambda: len(batches.all()) == 7)
    finally:
        query.stop()
    assert [row.topic for row in batches.all()] == [topic] * 4 + [later] * 3


@pytest.mark.slow
def test_small_batches_wait_for_more(spark, broker, tmp_path, eventually):
    topic = new_topic(broker, 1)
    fill(broker, topic, 5)
    options = {"subscribe": topic, "minOffsetsPerTrigger": "100", "maxTriggerDelay": "1h"}
    batches = Batches()
    query = start(stream(spark, broker, options), tmp_path, batches)
    try:
        eventually(lambda: batches.sizes() == [5])  # the first never waits
        for first in range(5, 105, 20):
            fill(broker, topic, 20, first=first)
        eventually(lambda: len(batches.all()) == 105)
    finally:
        query.stop()
    assert batches.sizes() == [5, 100]


@pytest.mark.slow
def test_a_query_starts_with_what_comes_by_default(spark, broker, tmp_path, eventually):
    topic = new_topic(broker, 1)
    fill(broker, topic, 5)
    frame = stream(spark, broker, {"subscribe": topic, "startingOffsets": "latest"})
    nothing, _ = run_available_now(frame, tmp_path)
    assert nothing.all() == []
    fill(broker, topic, 2, first=5)
    later, _ = run_available_now(frame, tmp_path)
    assert [row.offset for row in later.all()] == [5, 6]


@pytest.mark.slow
def test_a_stream_by_timestamp(spark, broker, tmp_path):
    topic = new_topic(broker, 1)
    fill(broker, topic, 10)
    frame = stream(spark, broker, {"subscribe": topic, "startingTimestamp": str(FIRST_MS + 7)})
    batches, _ = run_available_now(frame, tmp_path)
    assert [row.offset for row in batches.all()] == [7, 8, 9]


@pytest.mark.slow
def test_an_open_transaction_holds_a_careful_reader(spark, broker, tmp_path):
    topic = new_topic(broker, 1)
    fill(broker, topic, 3)
    writer = producer(broker, transactional_id=f"open-{topic}")
    writer.init_transactions(20)
    writer.begin_transaction()
    writer.produce(topic, b"open", partition=0)
    assert writer.flush(20) == 0
    frame = stream(spark, broker, {"subscribe": topic, "kafka.isolation.level": "read_committed"})
    before, _ = run_available_now(frame, tmp_path)
    assert len(before.all()) == 3
    writer.commit_transaction(20)
    after, _ = run_available_now(frame, tmp_path)
    assert [row.value for row in after.all()] == [b"open"]


# --- streams after a fault ------------------------------------------------------------------------


@pytest.mark.slow
def test_a_checkpoint_of_another_cluster(spark, broker, own_broker, tmp_path):
    topic = new_topic(broker, 1)
    own_broker.create_topic(topic, 1)
    for each in (broker, own_broker):
        fill(each, topic, 5)
    run_available_now(stream(spark, broker, {"subscribe": topic}), tmp_path)
    with pytest.raises(PySparkException, match="ForeignCheckpoint: the checkpoint belongs to cl"):
        run_available_now(stream(spark, own_broker, {"subscribe": topic}), tmp_path)


@pytest.mark.slow
def test_a_checkpoint_of_another_topic(spark, broker, tmp_path):
    topics = [new_topic(broker, 1), new_topic(broker, 1)]
    for topic in topics:
        fill(broker, topic, 5)
    run_available_now(stream(spark, broker, {"subscribe": topics[0]}), tmp_path)
    with pytest.raises(PySparkException, match=r"ForeignCheckpoint: .* a query over"):
        run_available_now(stream(spark, broker, {"subscribe": topics[1]}), tmp_path)


@pytest.mark.slow
def test_records_that_aged_out_while_the_query_was_down(spark, broker, tmp_path):
    topic = new_topic(broker, 1)
    fill(broker, topic, 5)
    run_available_now(stream(spark, broker, {"subscribe": topic}), tmp_path)
    fill(broker, topic, 10, first=5)
    age_out(broker, topic, 0, 9)
    with pytest.raises(PySparkException, match=r"DataLoss: offsets 5 to 8 of .* aged out"):
        run_available_now(stream(spark, broker, {"subscribe": topic}), tmp_path)
    tolerant = stream(spark, broker, {"subscribe": topic, "failOnDataLoss": "false"})
    batches, _ = run_available_now(tolerant, tmp_path)
    assert [row.offset for row in batches.all()] == list(range(9, 15))


@pytest.mark.slow
def test_a_topic_that_was_deleted_and_made_anew(spark, broker, tmp_path):
    topic = new_topic(broker, 1)
    fill(broker, topic, 5)
    run_available_now(stream(spark, broker, {"subscribe": topic}), tmp_path)
    delete_topic(broker, topic)
    with pytest.raises(PySparkException, match="TopicMissing"):
        run_available_now(stream(spark, broker, {"subscribe": topic}), tmp_path)
    broker.create_topic(topic, 1)
    fill(broker, topic, 8)
    with pytest.raises(PySparkException, match=r"DataLoss: .* deleted and made anew"):
        run_available_now(stream(spark, broker, {"subscribe": topic}), tmp_path)
    tolerant = stream(spark, broker, {"subscribe": topic, "failOnDataLoss": "false"})
    batches, _ = run_available_now(tolerant, tmp_path)
    assert [row.offset for row in batches.all()] == list(range(8))

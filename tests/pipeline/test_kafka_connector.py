"""Spark's own Kafka connector on our broker, and the same rows from ``format("headrace")``.

Every topic that is compared holds batches of every codec, so each option is tried with each codec.
What is not marked as slow is a sample of everything, for each change of the code.
"""

from __future__ import annotations

import json

import pytest
from pyspark.errors import PySparkException

from .connector_jars import connector
from .queries import batch, rows_in_order, run_available_now, stream
from .topics import (
    CODECS,
    FIRST_MS,
    add_partitions,
    age_out,
    fill,
    new_topic,
    send_in_transaction,
)

pytestmark = pytest.mark.maven

PARTITIONS = 2
RECORDS_PER_CODEC = 40
RECORDS = RECORDS_PER_CODEC * len(CODECS)
PER_PARTITION = RECORDS // PARTITIONS
MIDDLE_MS = FIRST_MS + RECORDS // 2
AGED_OUT = 30
PATHS = ("storage", "fetch")
SAMPLE = ("subscribePattern", "assign", "both ends", "startingOffsetsByTimestampStrategy")


def slow_unless(is_quick, *values):
    """A case that is left out of short runs."""
    return pytest.param(*values, marks=() if is_quick else pytest.mark.slow)


@pytest.fixture(scope="module", autouse=True)
def _with_the_connector():
    if connector().missing:
        pytest.skip(connector().missing)


@pytest.fixture(scope="module")
def mixed(broker):
    """A topic with a few batches of each codec."""
    topic = new_topic(broker, PARTITIONS)
    for number, codec in enumerate(CODECS):
        fill(broker, topic, RECORDS_PER_CODEC, codec, first=number * RECORDS_PER_CODEC)
    return topic


@pytest.fixture(scope="module")
def transactional(broker):
    """A topic with records that were committed, aborted, and written without a transaction."""
    topic = new_topic(broker, 1)
    send_in_transaction(broker, topic, 20, is_committed=True)
    send_in_transaction(broker, topic, 20, is_committed=False, first=20)
    fill(broker, topic, 10, first=40)
    send_in_transaction(broker, topic, 5, is_committed=False, first=50)
    send_in_transaction(broker, topic, 5, is_committed=True, first=55)
    return topic


@pytest.fixture(scope="module")
def aged(broker):
    topic = new_topic(broker, 1)
    fill(broker, topic, 100, "lz4")
    age_out(broker, topic, 0, AGED_OUT)
    return topic


def assert_same_rows(spark, broker, options, count):
    """From the broker's files and through Fetch: what the connector reads with the same options."""
    theirs = rows_in_order(batch(spark, broker, options, source="kafka"))
    assert len(theirs) == count
    for path in PATHS:
        ours = rows_in_order(batch(spark, broker, {**options, "headrace.read.path": path}))
        assert ours == theirs, path


# --- the connector works --------------------------------------------------------------------------


def test_the_connector_reads_and_writes_a_batch(spark, broker):
    source, target = new_topic(broker, 3), new_topic(broker, 3)
    fill(broker, source, 90)
    frame = batch(spark, broker, {"subscribe": source, "includeHeaders": "true"}, source="kafka")
    written = frame.select("key", "value", "partition", "headers")
    options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": target}
    written.write.format("kafka").options(includeHeaders="true", **options).save()
    copied = batch(spark, broker, {"subscribe": target, "includeHeaders": "true"}, source="kafka")
    wanted = sorted(map(repr, written.collect()))
    assert len(wanted) == 90
    assert sorted(map(repr, copied.select(*written.columns).collect())) == wanted


def test_the_connector_reads_and_writes_a_stream(spark, broker, tmp_path):
    source, target = new_topic(broker, 2), new_topic(broker, 2)
    fill(broker, source, 60)
    frame = stream(
        spark, broker, {"subscribe": source, "maxOffsetsPerTrigger": "25"}, source="kafka"
    )
    for last in (60, 80):
        query = (
            frame.select("key", "value")
            .writeStream.format("kafka")
            .option("kafka.bootstrap.servers", broker.bootstrap_servers)
            .option("topic", target)
            .option("checkpointLocation", str(tmp_path))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        assert batch(spark, broker, {"subscribe": target}, source="kafka").count() == last
        fill(broker, source, 20, first=60)


def test_what_the_connector_writes_is_what_we_read(spark, broker):
    topic = new_topic(broker, 2)
    frame = spark.range(500).selectExpr("cast(id as string) key", "repeat('x', int(id)) value")
    options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": topic}
    frame.write.format("kafka").options(**options).option("kafka.compression.type", "zstd").save()
    read = batch(spark, broker, {"subscribe": topic})
    found = read.selectExpr("cast(key as string) key", "length(value) size").collect()
    assert sorted((int(row.key), row.size) for row in found) == [(n, n) for n in range(500)]


# --- the same rows --------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS)
def test_the_same_rows_for_every_codec(spark, broker, codec):
    topic = new_topic(broker, PARTITIONS)
    fill(broker, topic, 150, codec)
    assert_same_rows(spark, broker, {"subscribe": topic, "includeHeaders": "true"}, 150)


@pytest.mark.slow
def test_the_same_rows_with_the_brokers_time(spark, broker):
    topic = new_topic(broker, 1, message_timestamp_type="LogAppendTime")
    fill(broker, topic, 20)
    assert_same_rows(spark, broker, {"subscribe": topic}, 20)
    rows = batch(spark, broker, {"subscribe": topic}).collect()
    assert {row.timestampType for row in rows} == {1}


OPTIONS = {
    "subscribe": ({"subscribe": "TOPIC"}, RECORDS),
    "subscribePattern": ({"subscribePattern": "TOPI[C].?"}, RECORDS),
    "assign": ({"assign": '{"TOPIC": [1]}'}, PER_PARTITION),
    "includeHeaders": ({"includeHeaders": "true"}, RECORDS),
    "startingOffsets earliest": ({"startingOffsets": "earliest"}, RECORDS),
    "startingOffsets JSON": ({"startingOffsets": '{"TOPIC": {"0": 55, "1": 99}}'}, 46),
    "startingOffsets -2": ({"startingOffsets": '{"TOPIC": {"0": -2, "1": 99}}'}, 101),
    "endingOffsets latest": ({"endingOffsets": "latest"}, RECORDS),
    "endingOffsets JSON": ({"endingOffsets": '{"TOPIC": {"0": 7, "1": 0}}'}, 7),
    "endingOffsets -1": ({"endingOffsets": '{"TOPIC": {"0": 7, "1": -1}}'}, 107),
    "both ends": (
        {
            "startingOffsets": '{"TOPIC": {"0": 33, "1": 61}}',
            "endingOffsets": '{"TOPIC": {"0": 47, "1": 61}}',
        },
        14,
    ),
    "startingTimestamp": ({"startingTimestamp": str(MIDDLE_MS)}, RECORDS // 2),
    "endingTimestamp": ({"endingTimestamp": str(MIDDLE_MS)}, RECORDS // 2),
    "startingOffsetsByTimestamp": (
        {"startingOffsetsByTimestamp": f'{{"TOPIC": {{"0": {MIDDLE_MS}, "1": {FIRST_MS}}}}}'},
        150,
    ),
    "endingOffsetsByTimestamp": (
        {"endingOffsetsByTimestamp": f'{{"TOPIC": {{"0": {MIDDLE_MS}, "1": 4000000000000}}}}'},
        150,
    ),
    "startingOffsetsByTimestampStrategy": (
        {
            "startingOffsetsByTimestampStrategy": "latest",
            "startingOffsetsByTimestamp": f'{{"TOPIC": {{"0": 4000000000000, "1": {MIDDLE_MS}}}}}',
        },
        50,
    ),
    "minPartitions": ({"minPartitions": "7"}, RECORDS),
    "maxRecordsPerPartition": ({"maxRecordsPerPartition": "13"}, RECORDS),
    "failOnDataLoss": ({"failOnDataLoss": "false"}, RECORDS),
    "kafka.isolation.level": ({"kafka.isolation.level": "read_committed"}, RECORDS),
    "limits of streams": ({"maxOffsetsPerTrigger": "9", "minOffsetsPerTrigger": "3"}, RECORDS),
    "options of consumers": (
        {
            "kafka.max.poll.records": "7",
            "kafka.fetch.max.wait.ms": "100",
            "kafka.client.id": "both",
            "kafkaConsumer.pollTimeoutMs": "60000",
            "fetchOffset.numRetries": "2",
            "groupIdPrefix": "g",
        },
        RECORDS,
    ),
}


@pytest.mark.parametrize("name", [slow_unless(name in SAMPLE, name) for name in OPTIONS])
def test_the_same_rows_for_every_option(spark, broker, mixed, name):
    options, count = OPTIONS[name]
    given = {key: value.replace("TOPIC", mixed) for key, value in options.items()}
    given = {key: value.replace("TOPI[C].?", f"{mixed[:-1]}.") for key, value in given.items()}
    if not {"assign", "subscribePattern"} & given.keys():
        given["subscribe"] = mixed
    assert_same_rows(spark, broker, given, count)


@pytest.mark.parametrize(
    ("level", "count"),
    [("read_committed", 35), slow_unless(False, "read_uncommitted", 60)],
)
def test_the_same_rows_of_transactions(spark, broker, transactional, level, count):
    options = {"subscribe": transactional, "kafka.isolation.level": level}
    assert_same_rows(spark, broker, options, count)


def test_the_same_rows_after_a_loss_that_is_allowed(spark, broker, aged):
    options = {
        "subscribe": aged,
        "failOnDataLoss": "false",
        "startingOffsets": json.dumps({aged: {"0": 5}}),
    }
    assert_same_rows(spark, broker, options, 100 - AGED_OUT)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"subscribe": "TOPIC", "assign": '{"TOPIC": [0]}'},
        {"subscribe": "no-such-topic"},
        {"subscribe": "TOPIC", "startingOffsets": "latest"},
        {"subscribe": "TOPIC", "startingOffsets": "{"},
        {"subscribe": "TOPIC", "startingOffsets": '{"TOPIC": {"0": 3}}'},
        {"subscribe": "TOPIC", "startingOffsets": '{"TOPIC": {"0": -1, "1": 0}}'},
        {"subscribe": "TOPIC", "startingOffsets": '{"TOPIC": {"0": 3000, "1": 0}}'},
        {"subscribe": "TOPIC", "endingOffsets": "earliest"},
        {"subscribe": "TOPIC", "startingTimestamp": "4000000000000"},
        {"subscribe": "TOPIC", "minPartitions": "0"},
        {"subscribe": "TOPIC", "kafka.auto.offset.reset": "earliest"},
        {"subscribe": "TOPIC", "kafka.value.deserializer": "x"},
    ],
    ids=str,
)
def test_what_the_connector_refuses_is_refused(spark, broker, mixed, options):
    given = {key: value.replace("TOPIC", mixed) for key, value in options.items()}
    for source in ("kafka", "headrace"):
        with pytest.raises(Exception) as caught:  # theirs come as errors of Java, too
            batch(spark, broker, given, source=source).collect()
        if source == "headrace":
            assert isinstance(caught.value, PySparkException)


STREAMS = [
    {"subscribe": "TOPIC"},
    {"subscribe": "TOPIC", "maxOffsetsPerTrigger": "70"},
    {"subscribe": "TOPIC", "maxOffsetsPerTrigger": "100", "minOffsetsPerTrigger": "100"},
    {"subscribe": "TOPIC", "maxOffsetsPerTrigger": "100", "minPartitions": "5"},
    {"subscribe": "TOPIC", "startingOffsets": '{"TOPIC": {"0": 20, "1": -2}}'},
    {"subscribe": "TOPIC", "startingTimestamp": str(MIDDLE_MS)},
    {"assign": '{"TOPIC": [0]}', "includeHeaders": "true"},
]


@pytest.mark.parametrize(
    "options",
    [slow_unless(given.get("maxOffsetsPerTrigger") == "70", given) for given in STREAMS],
    ids=str,
)
def test_the_same_rows_of_a_stream(spark, broker, mixed, tmp_path, options):
    given = {key: value.replace("TOPIC", mixed) for key, value in options.items()}
    results = {}
    for source in ("kafka", "headrace"):
        frame = stream(spark, broker, given, source=source)
        results[source], _ = run_available_now(frame, tmp_path / source)
    assert results["kafka"].all()
    assert results["headrace"].all() == results["kafka"].all()
    assert results["headrace"].sizes() == results["kafka"].sizes()


@pytest.mark.slow
def test_the_same_rows_of_a_stream_that_goes_on(spark, broker, tmp_path):
    """From a checkpoint, with records, a partition and a topic that came, and records that went."""
    topic = new_topic(broker, 1)
    fill(broker, topic, 30, "lz4")

    def grow():
        add_partitions(broker, topic, 2)
        fill(broker, topic, 40, "zstd")
        fill(broker, broker.create_topic(f"{topic}-later", 1), 5)

    def age():
        fill(broker, topic, 40)
        age_out(broker, topic, 0, 60)

    options = {"subscribePattern": f"{topic}.*", "failOnDataLoss": "false"}
    counts = []
    for change in (None, grow, age):
        if change is not None:
            change()
        found = []
        for source in ("kafka", "headrace"):
            frame = stream(spark, broker, options, source=source)
            batches, _ = run_available_now(frame, tmp_path / source)
            found.append(batches.all())
        theirs, ours = found
        assert ours == theirs
        counts.append(len(theirs))
    assert counts == [30, 45, 30]

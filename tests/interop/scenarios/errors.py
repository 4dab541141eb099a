"""What the broker refuses reaches the user of each client under Kafka's own error number."""

from __future__ import annotations

from ..deadline import wait_until
from ..values import ConsumerSettings, Record
from .declare import ScenarioRun, expect_failure, numbered, scenario

OFFSET_OUT_OF_RANGE = 1
UNKNOWN_TOPIC_OR_PARTITION = 3
MESSAGE_TOO_LARGE = 10
INVALID_TOPIC = 17
INVALID_SESSION_TIMEOUT = 26
TOPIC_ALREADY_EXISTS = 36
INVALID_PARTITIONS = 37
INVALID_REPLICATION_FACTOR = 38
INVALID_CONFIG = 40
REFUSED_TIMEOUT_S = 15.0


@scenario("admin")
def bad_topics_are_refused(run: ScenarioRun) -> None:
    topic = run.new_topic("once", partitions=2)
    create = run.client.create_topic
    expect_failure(TOPIC_ALREADY_EXISTS, lambda: create(topic))
    expect_failure(INVALID_TOPIC, lambda: create("not a legal name!"))
    expect_failure(INVALID_PARTITIONS, lambda: create(run.name("zero"), partitions=0))
    expect_failure(
        INVALID_REPLICATION_FACTOR, lambda: create(run.name("many"), replication_factor=3)
    )
    expect_failure(
        INVALID_CONFIG, lambda: create(run.name("bad"), configs={"retention.ms": "soon"})
    )
    expect_failure(INVALID_PARTITIONS, lambda: run.client.create_partitions(topic, 1))
    expect_failure(UNKNOWN_TOPIC_OR_PARTITION, lambda: run.client.delete_topic(run.name("nowhere")))


@scenario("send-error")
def too_large_record_is_refused(run: ScenarioRun) -> None:
    topic = run.new_topic("small", configs={"max.message.bytes": "1000"})
    large = Record(value=b"x" * 5_000)
    expect_failure(MESSAGE_TOO_LARGE, lambda: run.client.produce(topic, [large]))
    assert run.client.produce(topic, numbered(1)) == [0]


@scenario("offset-reset-none")
def offset_out_of_range_is_reported(run: ScenarioRun) -> None:
    topic = run.new_topic("short")
    run.client.produce(topic, numbered(3))
    behind_the_end = ConsumerSettings(assign=((topic, 0),), offset_reset="none", start_offset=1_000)
    consumer = run.open(behind_the_end)

    def poll_until_refused() -> None:
        wait_until(lambda: bool(consumer.poll()), "refused", REFUSED_TIMEOUT_S, interval_s=0)

    expect_failure(OFFSET_OUT_OF_RANGE, poll_until_refused)


@scenario("session-timeout-error")
def too_short_session_is_refused(run: ScenarioRun) -> None:
    topic = run.new_topic("impatient")
    group = run.name("impatient-group")
    settings = ConsumerSettings(group, (topic,), session_timeout_ms=1_000)

    def join() -> None:
        consumer = run.open(settings)
        wait_until(
            lambda: bool(consumer.poll() or consumer.assignment()),
            "refused",
            REFUSED_TIMEOUT_S,
            interval_s=0,
        )

    expect_failure(INVALID_SESSION_TIMEOUT, join)

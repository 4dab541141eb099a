"""Which batch a sink has written last, and for which query, kept where a transaction can reach it.

The broker remembers it as the offset that a consumer group named after the sink has committed, on a
topic that holds no records. Kafka commits such an offset in the same transaction as the records,
and finds it again at once, without reading a log: there is nothing to scan, and the open
transaction of one sink never keeps another from seeing its own entry. The query's id is the
offset's metadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from headrace.pipeline.broker_view import BrokerView, quiet_logger
from headrace.pipeline.client_settings import librdkafka_settings
from headrace.pipeline.errors import TopicMissing
from headrace.pipeline.sink.clients import make_consumer, named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confluent_kafka import Consumer, Producer

LEDGER_TOPIC = "__headrace_sinks"
REQUEST_SECONDS_MAX = 60.0


class LedgerEntry(NamedTuple):
    """``query_id`` is empty for batches that belong to no streaming query."""

    batch_id: int
    query_id: str


class Ledger:
    """The entry of one sink, read when this is made.

    Make it only after ``init_transactions`` under the same name: before that, an older run could
    still commit.
    """

    def __init__(self, kafka: Mapping[str, str], sink_name: str) -> None:
        _ensure_topic(kafka)
        fixed = {"group.id": sink_name, "isolation.level": "read_committed"}
        consumer = make_consumer(kafka, {**fixed, "enable.auto.commit": "false"})
        try:
            self._group = consumer.consumer_group_metadata()
            self.last = _last_entry(consumer)
            """What was written last; None if there was nothing."""
        finally:
            consumer.close()

    def record(self, producer: Producer, entry: LedgerEntry, timeout_seconds: float) -> None:
        """Make the entry a part of the producer's open transaction."""
        # The next one to read, as offsets are: so batch 0 can be told from nothing.
        position = TopicPartition(LEDGER_TOPIC, 0, entry.batch_id + 1, entry.query_id)
        producer.send_offsets_to_transaction([position], self._group, timeout_seconds)


def _last_entry(consumer: Consumer) -> LedgerEntry | None:
    try:
        # Waits for the end of a transaction that is just storing one: only committed ones count.
        (found,) = consumer.committed(
            [TopicPartition(LEDGER_TOPIC, 0)], timeout=REQUEST_SECONDS_MAX
        )
    except KafkaException as failure:
        raise named(failure, "asking which batch was written last") from failure
    if found.error is not None:
        raise named(KafkaException(found.error), "asking which batch was written last")
    return LedgerEntry(found.offset - 1, found.metadata or "") if found.offset > 0 else None


def _ensure_topic(kafka: Mapping[str, str]) -> None:
    """Create the topic that the offsets are about, unless it is there."""
    try:
        with BrokerView(kafka) as view:
            view.partitions([LEDGER_TOPIC])
    except TopicMissing:
        _create_topic(kafka)


def _create_topic(kafka: Mapping[str, str]) -> None:
    admin = AdminClient({**librdkafka_settings(kafka, "admin")}, logger=quiet_logger())
    wanted = NewTopic(LEDGER_TOPIC, 1, -1, config={"cleanup.policy": "compact"})
    try:
        admin.create_topics([wanted], request_timeout=REQUEST_SECONDS_MAX)[LEDGER_TOPIC].result()
    except KafkaException as failure:
        if failure.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise named(failure, f"creating topic {LEDGER_TOPIC}") from failure

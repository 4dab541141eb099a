"""Driver for confluent-kafka (librdkafka)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from ..values import ClientFailure, ConsumerSettings, Json, Received, Record
from .driver_loop import (
    ADMIN_TIMEOUT_S,
    POLL_RECORDS_MAX,
    PRODUCE_TIMEOUT_S,
    ConsumerDriver,
    Driver,
    serve,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

OFFSET_OUT_OF_RANGE = 1
FENCED_INSTANCE_ID = 82
OFFSET_END = -1


def _failure_of(error: KafkaError) -> ClientFailure:
    code: int | None = error.code()
    # librdkafka wraps the broker's answer in its own code when the reset policy is "error".
    if code == KafkaError._AUTO_OFFSET_RESET and "out of range" in error.str().lower():
        code = OFFSET_OUT_OF_RANGE
    # A fatal error carries the broker's reason in words only.
    if code == KafkaError._FATAL and KafkaError(FENCED_INSTANCE_ID).str() in error.str():
        code = FENCED_INSTANCE_ID
    local = code is not None and code < 0
    return ClientFailure(None if local else code, error.name(), error.str())


def _received(message: Any) -> Received:
    kind, timestamp_ms = message.timestamp()
    record = Record(
        value=message.value(),
        key=message.key(),
        headers=tuple(message.headers() or ()),
        timestamp_ms=None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp_ms,
        partition=message.partition(),
    )
    return Received(message.topic(), message.offset(), record)


class ConfluentConsumer(ConsumerDriver):
    def __init__(self, bootstrap_servers: str, settings: ConsumerSettings) -> None:
        config: dict[str, Any] = {
            "bootstrap.servers": bootstrap_servers,
            "group.id": settings.group or "unused-by-assigned-partitions",
            "enable.auto.commit": False,
            "auto.offset.reset": "error" if settings.offset_reset == "none" else "earliest",
            "group.protocol": settings.protocol,
            "fetch.wait.max.ms": 100,
        }
        if settings.protocol == "classic":
            config["session.timeout.ms"] = settings.session_timeout_ms
            config["heartbeat.interval.ms"] = settings.heartbeat_interval_ms
            cooperative = settings.assignor == "cooperative"
            config["partition.assignment.strategy"] = (
                "cooperative-sticky" if cooperative else "range"
            )
        if settings.instance_id is not None:
            config["group.instance.id"] = settings.instance_id
        self._consumer = Consumer(config)
        self._assignments_seen = 0
        if settings.assign:
            # An explicit start: without one the library would ask the group's coordinator first.
            start = OFFSET_BEGINNING if settings.start_offset is None else settings.start_offset
            self._consumer.assign([TopicPartition(t, p, start) for t, p in settings.assign])
        else:
            self._consumer.subscribe(list(settings.topics), on_assign=self._on_assign)

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._assignments_seen += 1

    def poll(self, timeout_ms: int) -> list[Received]:
        messages = self._consumer.consume(1, timeout_ms / 1000)
        messages += self._consumer.consume(POLL_RECORDS_MAX, 0)
        for message in messages:
            error = message.error()
            if error is not None:
                raise _failure_of(error)
        return [_received(message) for message in messages]

    def assignment(self) -> list[tuple[str, int]]:
        return [(item.topic, item.partition) for item in self._consumer.assignment()]

    def assignments_seen(self) -> int:
        return self._assignments_seen

    def commit(self, offsets: dict[tuple[str, int], int] | None) -> None:
        if offsets is None:
            self._consumer.commit(asynchronous=False)
            return
        chosen = [TopicPartition(t, p, offset) for (t, p), offset in offsets.items()]
        for item in self._consumer.commit(offsets=chosen, asynchronous=False):
            if item.error is not None:
                raise _failure_of(item.error)

    def committed(self, topic: str, partition: int) -> int | None:
        wanted = [TopicPartition(topic, partition)]
        offset: int = self._consumer.committed(wanted, ADMIN_TIMEOUT_S)[0].offset
        return None if offset < 0 else offset

    def seek(self, topic: str, partition: int, offset: int) -> None:
        self._consumer.seek(TopicPartition(topic, partition, offset))

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        wanted = [TopicPartition(topic, partition, timestamp_ms)]
        offset: int = self._consumer.offsets_for_times(wanted, ADMIN_TIMEOUT_S)[0].offset
        return None if offset == OFFSET_END else offset

    def close(self) -> None:
        self._consumer.close()


class ConfluentDriver(Driver):
    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__(bootstrap_servers)
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers})

    def failure(self, error: Exception) -> ClientFailure | None:
        if isinstance(error, KafkaException) and isinstance(error.args[0], KafkaError):
            return _failure_of(error.args[0])
        return None

    def new_consumer(self, settings: ConsumerSettings) -> ConsumerDriver:
        return ConfluentConsumer(self.bootstrap_servers, settings)

    def send(
        self, topic: str, records: Sequence[Record], codec: str, idempotent: bool
    ) -> list[int]:
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "compression.type": codec,
                "enable.idempotence": idempotent,
                "linger.ms": 5,
            }
        )
        results: dict[int, int] = {}
        failures: list[ClientFailure] = []
        for position, record in enumerate(records):

            def delivered(error: KafkaError | None, message: Any, position: int = position) -> None:
                if error is not None:
                    failures.append(_failure_of(error))
                else:
                    results[position] = message.offset()

            producer.produce(
                topic,
                value=record.value,
                key=record.key,
                partition=record.partition,
                headers=list(record.headers),
                timestamp=record.timestamp_ms or 0,
                on_delivery=delivered,
            )
        unsent = producer.flush(PRODUCE_TIMEOUT_S)
        if failures:
            raise failures[0]
        if unsent:
            raise TimeoutError(f"{unsent} records were not acknowledged")
        return [results[position] for position in range(len(records))]

    def create_topic(
        self, topic: str, partitions: int, replication_factor: int, configs: dict[str, str]
    ) -> None:
        new = NewTopic(topic, partitions, replication_factor, config=configs)
        self._admin.create_topics([new])[topic].result(ADMIN_TIMEOUT_S)

    def delete_topic(self, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result(ADMIN_TIMEOUT_S)

    def list_topics(self) -> list[str]:
        return list(self._admin.list_topics(timeout=ADMIN_TIMEOUT_S).topics)

    def partition_count(self, topic: str) -> int:
        return len(self._admin.list_topics(timeout=ADMIN_TIMEOUT_S).topics[topic].partitions)

    def create_partitions(self, topic: str, total: int) -> None:
        result = self._admin.create_partitions([NewPartitions(topic, total)])
        result[topic].result(ADMIN_TIMEOUT_S)

    def describe_configs(self, topic: str) -> dict[str, str | None]:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        entries = self._admin.describe_configs([resource])[resource].result(ADMIN_TIMEOUT_S)
        return {name: entry.value for name, entry in entries.items()}

    def alter_config(self, topic: str, name: str, value: str) -> None:
        change = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
        self._admin.incremental_alter_configs([resource])[resource].result(ADMIN_TIMEOUT_S)

    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        target = TopicPartition(topic, partition, before_offset)
        result = self._admin.delete_records([target])
        low: int = next(iter(result.values())).result(ADMIN_TIMEOUT_S).low_watermark
        return low

    def list_offset(self, topic: str, partition: int, at: str) -> int:
        spec: Any = getattr(OffsetSpec, at)()
        result = self._admin.list_offsets({TopicPartition(topic, partition): spec})
        offset: int = next(iter(result.values())).result(ADMIN_TIMEOUT_S).offset
        return offset

    def list_groups(self) -> list[str]:
        listing = self._admin.list_consumer_groups().result(ADMIN_TIMEOUT_S)
        return [group.group_id for group in listing.valid]

    def describe_group(self, group: str) -> Json:
        result = self._admin.describe_consumer_groups([group])[group].result(ADMIN_TIMEOUT_S)
        instances = [m.group_instance_id for m in result.members if m.group_instance_id]
        return {
            "state": result.state.name.title(),
            "member_count": len(result.members),
            "instance_ids": instances,
        }

    def delete_group(self, group: str) -> None:
        self._admin.delete_consumer_groups([group])[group].result(ADMIN_TIMEOUT_S)

    def group_offsets(self, group: str) -> list[list[Any]]:
        wanted = [ConsumerGroupTopicPartitions(group)]
        result = self._admin.list_consumer_group_offsets(wanted)[group].result(ADMIN_TIMEOUT_S)
        return [[tp.topic, tp.partition, tp.offset] for tp in result.topic_partitions]


if __name__ == "__main__":
    serve(ConfluentDriver)

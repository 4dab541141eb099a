"""Driver for kafka-python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, KafkaAdminClient
from kafka.admin import OffsetSpec as PartitionOffsetSpec
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from interop.clients.driver_loop import (
    POLL_RECORDS_MAX,
    PRODUCE_TIMEOUT_S,
    ConsumerDriver,
    Driver,
    serve,
)
from interop.values import ClientFailure, ConsumerSettings, Json, Received, Record

if TYPE_CHECKING:
    from collections.abc import Sequence


class CountingListener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Counts the assignments that the library announces."""

    def __init__(self) -> None:
        self.assignments_seen = 0

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Nothing to give back: scenarios commit by themselves."""

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self.assignments_seen += 1


def _received(message: Any) -> Received:
    record = Record(
        value=message.value,
        key=message.key,
        headers=tuple(message.headers),
        timestamp_ms=message.timestamp,
        partition=message.partition,
    )
    return Received(message.topic, message.offset, record)


class KafkaPythonConsumer(ConsumerDriver):
    def __init__(self, bootstrap_servers: str, settings: ConsumerSettings) -> None:
        cooperative = settings.assignor == "cooperative"
        self._listener = CountingListener()
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap_servers,
            group_id=settings.group,
            group_instance_id=settings.instance_id,
            enable_auto_commit=False,
            auto_offset_reset=settings.offset_reset,
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            fetch_max_wait_ms=100,
            max_poll_records=POLL_RECORDS_MAX,
            partition_assignment_strategy=[
                CooperativeStickyAssignor if cooperative else RangePartitionAssignor
            ],
        )
        if settings.assign:
            self._consumer.assign([TopicPartition(t, p) for t, p in settings.assign])
        else:
            self._consumer.subscribe(list(settings.topics), listener=self._listener)

    def poll(self, timeout_ms: int) -> list[Received]:
        batches = self._consumer.poll(timeout_ms=timeout_ms)
        return [_received(message) for batch in batches.values() for message in batch]

    def assignment(self) -> list[tuple[str, int]]:
        return [(item.topic, item.partition) for item in self._consumer.assignment()]

    def assignments_seen(self) -> int:
        return self._listener.assignments_seen

    def commit(self, offsets: dict[tuple[str, int], int] | None) -> None:
        if offsets is None:
            self._consumer.commit()
            return
        self._consumer.commit(
            {TopicPartition(t, p): OffsetAndMetadata(o, "", -1) for (t, p), o in offsets.items()}
        )

    def committed(self, topic: str, partition: int) -> int | None:
        offset: int | None = self._consumer.committed(TopicPartition(topic, partition))
        return offset

    def seek(self, topic: str, partition: int, offset: int) -> None:
        self._consumer.seek(TopicPartition(topic, partition), offset)

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        wanted = TopicPartition(topic, partition)
        found = self._consumer.offsets_for_times({wanted: timestamp_ms})[wanted]
        return None if found is None else found.offset

    def close(self) -> None:
        self._consumer.close()


class KafkaPythonDriver(Driver):
    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__(bootstrap_servers)
        self._admin = KafkaAdminClient(bootstrap_servers=bootstrap_servers)

    def failure(self, error: Exception) -> ClientFailure | None:
        if not isinstance(error, KafkaError):
            return None
        number = getattr(error, "errno", None)
        code = number if isinstance(number, int) and number > 0 else None
        return ClientFailure(code, type(error).__name__, str(error))

    def new_consumer(self, settings: ConsumerSettings) -> ConsumerDriver:
        return KafkaPythonConsumer(self.bootstrap_servers, settings)

    def send(
        self, topic: str, records: Sequence[Record], codec: str, idempotent: bool
    ) -> list[int]:
        producer = KafkaProducer(
            bootstrap_servers=self.bootstrap_servers,
            compression_type=None if codec == "none" else codec,
            enable_idempotence=idempotent,
            acks="all",
            linger_ms=5,
        )
        try:
            futures = [
                producer.send(
                    topic,
                    value=record.value,
                    key=record.key,
                    headers=list(record.headers),
                    partition=record.partition,
                    timestamp_ms=record.timestamp_ms,
                )
                for record in records
            ]
            return [future.get(timeout=PRODUCE_TIMEOUT_S).offset for future in futures]
        finally:
            producer.close(timeout=PRODUCE_TIMEOUT_S)

    def create_topic(
        self, topic: str, partitions: int, replication_factor: int, configs: dict[str, str]
    ) -> None:
        options = {
            "num_partitions": partitions,
            "replication_factor": replication_factor,
            "configs": configs,
        }
        self._admin.create_topics({topic: options}, wait_for_metadata=True)

    def delete_topic(self, topic: str) -> None:
        self._admin.delete_topics([topic])

    def list_topics(self) -> list[str]:
        return list(self._admin.list_topics())

    def partition_count(self, topic: str) -> int:
        return len(self._admin.describe_topics([topic])[0]["partitions"])

    def create_partitions(self, topic: str, total: int) -> None:
        self._admin.create_partitions({topic: total})

    def describe_configs(self, topic: str) -> dict[str, str | None]:
        resource = ConfigResource("topic", topic)
        described = self._admin.describe_configs([resource], config_filter="all")
        entries = described["topic"][topic]
        return {name: entry["value"] for name, entry in entries.items()}

    def alter_config(self, topic: str, name: str, value: str) -> None:
        resource = ConfigResource("topic", topic, configs={name: value})
        self._admin.alter_configs([resource])

    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        target = TopicPartition(topic, partition)
        low: int = self._admin.delete_records({target: before_offset})[target]["low_watermark"]
        return low

    def list_offset(self, topic: str, partition: int, at: str) -> int:
        target = TopicPartition(topic, partition)
        spec = PartitionOffsetSpec.EARLIEST if at == "earliest" else PartitionOffsetSpec.LATEST
        offset: int = self._admin.list_partition_offsets({target: spec})[target].offset
        return offset

    def list_groups(self) -> list[str]:
        return [group["group_id"] for group in self._admin.list_groups()]

    def describe_group(self, group: str) -> Json:
        described = self._admin.describe_groups([group])[group]
        members = described["members"]
        return {
            "state": described["group_state"],
            "member_count": len(members),
            "instance_ids": [m["group_instance_id"] for m in members if m["group_instance_id"]],
        }

    def delete_group(self, group: str) -> None:
        result = self._admin.delete_groups([group])
        print(f"delete_groups answered {result!r}")

    def group_offsets(self, group: str) -> list[list[Any]]:
        offsets = self._admin.list_group_offsets({group: None})[group]
        return [[tp.topic, tp.partition, value.offset] for tp, value in offsets.items()]


if __name__ == "__main__":
    serve(KafkaPythonDriver)

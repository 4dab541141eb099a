"""Driver for kafka-python."""

from __future__ import annotations

import concurrent.futures
import contextlib
import queue
import threading
from typing import TYPE_CHECKING, Any

import kafka.errors
from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, KafkaAdminClient
from kafka.admin import OffsetSpec as PartitionOffsetSpec
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from ..values import ClientFailure, ConsumerSettings, Json, Received, Record
from .driver_loop import (
    POLL_RECORDS_MAX,
    PRODUCE_TIMEOUT_S,
    ConsumerDriver,
    Driver,
    serve,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

POLL_TIMEOUT_MS = 100
CALL_TIMEOUT_S = 30.0


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


class PollingThread:
    """Polls a consumer all the time, as an application would.

    The library loses a rebalance that completes while nobody polls; and as it is not safe for use
    by several threads, other calls take their turn between two polls.
    """

    def __init__(self, consumer: KafkaConsumer) -> None:
        self._consumer = consumer
        self._unread: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._calls: queue.SimpleQueue[Call] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            while not self._calls.empty():
                self._calls.get().run()
            try:
                for batch in self._consumer.poll(timeout_ms=POLL_TIMEOUT_MS).values():
                    for message in batch:
                        self._unread.put(message)
            except KafkaError as error:
                self._unread.put(error)

    def take(self, timeout_ms: int) -> list[Any]:
        """What has been polled since; an error that a poll raised is raised here."""
        found: list[Any] = []
        with contextlib.suppress(queue.Empty):
            found.append(self._unread.get(timeout=timeout_ms / 1000))
            while True:
                found.append(self._unread.get_nowait())
        for item in found:
            if isinstance(item, KafkaError):
                raise item
        return found

    def forget_unread(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._unread.get_nowait()

    def call(self, function: Callable[[], Any]) -> Any:
        call = Call(function)
        self._calls.put(call)
        return call.result()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()


class Call:
    """A function to run on the polling thread, and the place where its caller waits."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._future: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def run(self) -> None:
        try:
            self._future.set_result(self._function())
        except Exception as error:
            self._future.set_exception(error)

    def result(self) -> Any:
        return self._future.result(CALL_TIMEOUT_S)


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
            self._assign([TopicPartition(t, p) for t, p in settings.assign], settings.start_offset)
        else:
            self._consumer.subscribe(list(settings.topics), listener=self._listener)
        self._poller = PollingThread(self._consumer)

    def _assign(self, partitions: list[TopicPartition], start_offset: int | None) -> None:
        self._consumer.assign(partitions)
        for partition in partitions:
            if start_offset is not None:
                self._consumer.seek(partition, start_offset)

    def poll(self, timeout_ms: int) -> list[Received]:
        return [_received(message) for message in self._poller.take(timeout_ms)]

    def assignment(self) -> list[tuple[str, int]]:
        assigned = self._poller.call(self._consumer.assignment)
        return [(item.topic, item.partition) for item in assigned]

    def assignments_seen(self) -> int:
        return self._listener.assignments_seen

    def commit(self, offsets: dict[tuple[str, int], int] | None) -> None:
        if offsets is None:
            self._poller.call(self._consumer.commit)
            return
        chosen = {
            TopicPartition(t, p): OffsetAndMetadata(o, "", -1) for (t, p), o in offsets.items()
        }
        self._poller.call(lambda: self._consumer.commit(chosen))

    def committed(self, topic: str, partition: int) -> int | None:
        wanted = TopicPartition(topic, partition)
        offset: int | None = self._poller.call(lambda: self._consumer.committed(wanted))
        return offset

    def seek(self, topic: str, partition: int, offset: int) -> None:
        target = TopicPartition(topic, partition)

        def seek_and_forget() -> None:
            # On the polling thread: what it polls after the seek must not be forgotten.
            self._consumer.seek(target, offset)
            self._poller.forget_unread()

        self._poller.call(seek_and_forget)

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        wanted = TopicPartition(topic, partition)
        found = self._poller.call(
            lambda: self._consumer.offsets_for_times({wanted: timestamp_ms})[wanted]
        )
        return None if found is None else found.offset

    def close(self) -> None:
        self._poller.stop()
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
        outcome = self._admin.delete_groups([group])[group]
        if outcome != "OK":
            raise getattr(kafka.errors, outcome)(group)  # answered as the name of a class

    def group_offsets(self, group: str) -> list[list[Any]]:
        offsets = self._admin.list_group_offsets({group: None})[group]
        return [[tp.topic, tp.partition, value.offset] for tp, value in offsets.items()]


if __name__ == "__main__":
    serve(KafkaPythonDriver)

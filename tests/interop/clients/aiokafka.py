"""Driver for aiokafka: its event loop has a thread of its own, so heartbeats go on meanwhile."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from aiokafka import (
    AIOKafkaConsumer,
    AIOKafkaProducer,
    ConsumerRebalanceListener,
    TopicPartition,
)
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, for_code

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
    from collections.abc import Coroutine, Sequence

Result = TypeVar("Result")
OPERATION_TIMEOUT_S = 60.0


class LoopThread:
    """An event loop that runs beside the driver's own (blocking) loop over standard input."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return future.result(OPERATION_TIMEOUT_S)


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


def _raise_for(code: int, message: str | None) -> None:
    if code:
        raise for_code(code)(message or "")


class AiokafkaConsumer(ConsumerDriver):
    def __init__(self, loop: LoopThread, bootstrap: str, settings: ConsumerSettings) -> None:
        self._loop = loop
        self._listener = CountingListener()
        self._consumer = loop.run(self._open(bootstrap, settings))

    async def _open(self, bootstrap: str, settings: ConsumerSettings) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=settings.group,
            group_instance_id=settings.instance_id,
            enable_auto_commit=False,
            auto_offset_reset=settings.offset_reset,
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            fetch_max_wait_ms=100,
        )
        if settings.assign:
            consumer.assign([TopicPartition(t, p) for t, p in settings.assign])
        else:
            consumer.subscribe(list(settings.topics), listener=self._listener)
        # start() returns only when the group has formed; scenarios want to open several at once.
        self._starting = asyncio.ensure_future(consumer.start())
        if settings.assign:
            await self._starting
            for topic, partition in settings.assign:
                if settings.start_offset is not None:
                    consumer.seek(TopicPartition(topic, partition), settings.start_offset)
        return consumer

    async def _poll(self, timeout_ms: int) -> list[Received]:
        if not self._starting.done():
            await asyncio.wait([self._starting], timeout=timeout_ms / 1000)
            if not self._starting.done():
                return []
        await self._starting
        batches = await self._consumer.getmany(timeout_ms=timeout_ms, max_records=POLL_RECORDS_MAX)
        return [_received(message) for batch in batches.values() for message in batch]

    def poll(self, timeout_ms: int) -> list[Received]:
        return self._loop.run(self._poll(timeout_ms))

    def assignment(self) -> list[tuple[str, int]]:
        return [(item.topic, item.partition) for item in self._consumer.assignment()]

    def assignments_seen(self) -> int:
        return self._listener.assignments_seen

    def commit(self, offsets: dict[tuple[str, int], int] | None) -> None:
        chosen = None
        if offsets is not None:
            chosen = {TopicPartition(t, p): offset for (t, p), offset in offsets.items()}
        self._loop.run(self._consumer.commit(chosen))

    def committed(self, topic: str, partition: int) -> int | None:
        offset: int | None = self._loop.run(
            self._consumer.committed(TopicPartition(topic, partition))
        )
        return offset

    def seek(self, topic: str, partition: int, offset: int) -> None:
        async def seek() -> None:
            self._consumer.seek(TopicPartition(topic, partition), offset)

        self._loop.run(seek())

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        wanted = TopicPartition(topic, partition)
        found = self._loop.run(self._consumer.offsets_for_times({wanted: timestamp_ms}))[wanted]
        return None if found is None else found.offset

    def close(self) -> None:
        self._loop.run(self._consumer.stop())


class AiokafkaDriver(Driver):
    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__(bootstrap_servers)
        self._loop = LoopThread()
        self._admin: AIOKafkaAdminClient = self._loop.run(self._open_admin())

    async def _open_admin(self) -> AIOKafkaAdminClient:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap_servers)
        await admin.start()
        return admin

    def failure(self, error: Exception) -> ClientFailure | None:
        if not isinstance(error, KafkaError):
            return None
        number = getattr(error, "errno", None)
        code = number if isinstance(number, int) and number > 0 else None
        return ClientFailure(code, type(error).__name__, str(error))

    def new_consumer(self, settings: ConsumerSettings) -> ConsumerDriver:
        return AiokafkaConsumer(self._loop, self.bootstrap_servers, settings)

    async def _send(
        self, topic: str, records: Sequence[Record], codec: str, idempotent: bool
    ) -> list[int]:
        producer = AIOKafkaProducer(
            bootstrap_servers=self.bootstrap_servers,
            compression_type=None if codec == "none" else codec,
            enable_idempotence=idempotent,
            acks="all",
            linger_ms=5,
        )
        await producer.start()
        try:
            futures = [
                await producer.send(
                    topic,
                    value=record.value,
                    key=record.key,
                    headers=list(record.headers),
                    partition=record.partition,
                    timestamp_ms=record.timestamp_ms,
                )
                for record in records
            ]
            done = await asyncio.wait_for(asyncio.gather(*futures), PRODUCE_TIMEOUT_S)
            return [metadata.offset for metadata in done]
        finally:
            await producer.stop()

    def send(
        self, topic: str, records: Sequence[Record], codec: str, idempotent: bool
    ) -> list[int]:
        return self._loop.run(self._send(topic, records, codec, idempotent))

    def create_topic(
        self, topic: str, partitions: int, replication_factor: int, configs: dict[str, str]
    ) -> None:
        new = NewTopic(topic, partitions, replication_factor, topic_configs=configs)
        answer = self._loop.run(self._admin.create_topics([new]))
        for _, code, message in answer.topic_errors:
            _raise_for(code, message)

    def delete_topic(self, topic: str) -> None:
        answer = self._loop.run(self._admin.delete_topics([topic]))
        for _, code in answer.topic_error_codes:
            _raise_for(code, None)

    def list_topics(self) -> list[str]:
        return list(self._loop.run(self._admin.list_topics()))

    def partition_count(self, topic: str) -> int:
        return len(self._loop.run(self._admin.describe_topics([topic]))[0]["partitions"])

    def create_partitions(self, topic: str, total: int) -> None:
        self._loop.run(self._admin.create_partitions({topic: NewPartitions(total)}))

    def describe_configs(self, topic: str) -> dict[str, str | None]:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        answer = self._loop.run(self._admin.describe_configs([resource]))[0]
        code, message, _, _, entries = answer.resources[0]
        _raise_for(code, message)
        return {entry[0]: entry[1] for entry in entries}

    def alter_config(self, topic: str, name: str, value: str) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs={name: value})
        answer = self._loop.run(self._admin.alter_configs([resource]))[0]
        for code, message, *_ in answer.resources:
            _raise_for(code, message)

    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        target = TopicPartition(topic, partition)
        wanted = {target: RecordsToDelete(before_offset)}
        low: int = self._loop.run(self._admin.delete_records(wanted))[target]
        return low

    def list_offset(self, topic: str, partition: int, at: str) -> int:
        return self._loop.run(self._list_offset(TopicPartition(topic, partition), at))

    async def _list_offset(self, target: TopicPartition, at: str) -> int:
        consumer = AIOKafkaConsumer(bootstrap_servers=self.bootstrap_servers)
        await asyncio.wait_for(consumer.start(), ADMIN_TIMEOUT_S)
        try:
            look_up = consumer.beginning_offsets if at == "earliest" else consumer.end_offsets
            offset: int = (await look_up([target]))[target]
            return offset
        finally:
            await consumer.stop()

    def list_groups(self) -> list[str]:
        return [group[0] for group in self._loop.run(self._admin.list_consumer_groups())]

    def describe_group(self, group: str) -> Json:
        answer = self._loop.run(self._admin.describe_consumer_groups([group]))[0]
        code, _, state, _, _, members, *_ = answer.groups[0]
        _raise_for(code, group)
        # DescribeGroups v3, the newest this client has, does not carry instance ids.
        return {"state": state, "member_count": len(members), "instance_ids": []}

    def group_offsets(self, group: str) -> list[list[Any]]:
        offsets = self._loop.run(self._admin.list_consumer_group_offsets(group))
        return [[tp.topic, tp.partition, value.offset] for tp, value in offsets.items()]


if __name__ == "__main__":
    serve(AiokafkaDriver)

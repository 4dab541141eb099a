"""A member of a group that reads, commits what it has read, and tells the history."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from .clients import (
    JOIN_SECONDS_MAX,
    ClientStuck,
    client_settings,
    message_stamp,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.testing.history import History
    from headrace.testing.history_partition import PartitionHistory, Reader

MESSAGES_PER_TURN_MAX = 1_000
TURN_SECONDS = 0.1
COMMIT_INTERVAL_SECONDS = 0.1
CLASSIC_SETTINGS = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 500}
PROTOCOLS: dict[str, dict[str, Any]] = {
    "classic": CLASSIC_SETTINGS | {"partition.assignment.strategy": "range"},
    "cooperative": CLASSIC_SETTINGS | {"partition.assignment.strategy": "cooperative-sticky"},
    "consumer": {"group.protocol": "consumer"},
}


class GroupMember(threading.Thread):
    """Reads with checksums on; every position it commits is one it has told the history."""

    def __init__(
        self,
        bootstrap_servers: str,
        group: str,
        protocol: str,
        topics: Sequence[str],
        history: History,
    ) -> None:
        super().__init__(name=f"member-of-{group}", daemon=True)
        self._history = history
        self._group = history.group(group)
        self._topics = list(topics)
        self._readers: dict[tuple[str, int], Reader] = {}
        self._uncommitted: dict[tuple[str, int], int] = {}
        self._stopping = threading.Event()
        self.failure: Exception | None = None
        settings = client_settings(
            bootstrap_servers,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            check_crcs=True,
            fetch_wait_max_ms=100,
        )
        self._consumer = Consumer(settings | PROTOCOLS[protocol])

    def run(self) -> None:
        try:
            self._work()
        except Exception as error:
            self.failure = error

    def stop(self) -> None:
        self._stopping.set()

    def finish(self) -> None:
        self.stop()
        self.join(JOIN_SECONDS_MAX)
        if self.is_alive():
            raise ClientStuck(f"{self.name} does not leave its group")
        if self.failure is not None:
            raise self.failure

    def _work(self) -> None:
        self._consumer.subscribe(
            self._topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )
        commit_due_s = time.monotonic()
        while not self._stopping.is_set():
            self._take(self._consumer.consume(MESSAGES_PER_TURN_MAX, TURN_SECONDS))
            if self._uncommitted and time.monotonic() >= commit_due_s:
                self._commit(self._uncommitted)
                self._uncommitted = {}
                commit_due_s = time.monotonic() + COMMIT_INTERVAL_SECONDS
        self._commit(self._uncommitted)
        self._consumer.close()

    # --- reading ----------------------------------------------------------------------------------

    def _take(self, messages: list[Message]) -> None:
        touched: set[tuple[str, int]] = set()
        for message in messages:
            if message.error() is not None:
                continue  # the broker is away; librdkafka tries again
            place = str(message.topic()), int(message.partition() or 0)
            reader = self._readers.get(place)
            if reader is None:
                continue  # taken away in this very turn
            offset = int(message.offset() or 0)
            reader.read(offset, message_stamp(message))
            self._uncommitted[place] = offset + 1
            touched.add(place)
        for place in touched:
            _, high = self._consumer.get_watermark_offsets(TopicPartition(*place), cached=True)
            if high >= 0 and place in self._readers:
                self._readers[place].watermark(high)

    def _partition(self, place: tuple[str, int]) -> PartitionHistory:
        return self._history.partition(*place)

    # --- the group --------------------------------------------------------------------------------

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        for entry in partitions:
            place = entry.topic, entry.partition
            self._readers[place] = self._partition(place).reader(self._group)

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        places = {(entry.topic, entry.partition) for entry in partitions}
        self._commit({p: offset for p, offset in self._uncommitted.items() if p in places})
        self._forget(places)

    def _lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._forget({(entry.topic, entry.partition) for entry in partitions})

    def _forget(self, places: set[tuple[str, int]]) -> None:
        for place in places:
            self._readers.pop(place, None)
            self._uncommitted.pop(place, None)

    def _commit(self, positions: dict[tuple[str, int], int]) -> None:
        if not positions:
            return
        for place, offset in positions.items():
            self._group.attempt(self._partition(place), offset)
        offsets = [TopicPartition(*place, offset) for place, offset in positions.items()]
        try:
            done = self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException:
            return  # the broker is away, or the generation is over: not acknowledged
        for entry in done or []:
            if entry.error is None:
                place = entry.topic, entry.partition
                self._group.acknowledge(self._partition(place), entry.offset)

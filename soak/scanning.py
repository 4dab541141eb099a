"""Reading whole logs, from the log start to the high watermark, for the history's last word."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from .clients import ANSWER_SECONDS_MAX, ClientStuck, as_bytes, client_settings, message_stamp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.testing.history import History
    from headrace.testing.history_partition import PartitionHistory
    from headrace.testing.history_scan import Scan

    from .retention_bounds import RetentionBounds

MESSAGES_PER_TURN_MAX = 5_000
TURN_SECONDS = 0.2
STALL_SECONDS_MAX = 20.0

Place = tuple[str, int]


class LogScanner:
    """One consumer for all partitions of some topics; no group."""

    def __init__(self, bootstrap_servers: str, history: History, bounds: RetentionBounds) -> None:
        self._history = history
        self._bounds = bounds
        self._consumer = Consumer(
            client_settings(
                bootstrap_servers,
                group_id="scanner",
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                enable_partition_eof=True,
                check_crcs=True,
                fetch_wait_max_ms=20,
            )
        )
        self._scans: dict[Place, Scan] = {}
        self._ends: dict[Place, int] = {}

    def scan(self, topics: Iterable[str]) -> None:
        wanted = set(topics)
        places = [place for place in list(self._history.partitions) if place[0] in wanted]
        self._begin(places)
        self._read()
        for place, scan in self._scans.items():
            low, _ = self._ends_of(place)
            scan.finish(low, self._ends[place])
        self._consumer.close()

    def _begin(self, places: list[Place]) -> None:
        starts = []
        for place in places:
            partition: PartitionHistory = self._history.partition(*place)
            floor = partition.expect()
            low, high = self._ends_of(place)
            partition.observe(low, high, floor)
            self._scans[place] = partition.scan()
            self._ends[place] = high
            starts.append(TopicPartition(*place, low))
        self._consumer.assign(starts)

    def _read(self) -> None:
        waiting = {place for place, end in self._ends.items() if end > 0}
        progress_s = time.monotonic()
        while waiting:
            messages = self._consumer.consume(MESSAGES_PER_TURN_MAX, TURN_SECONDS)
            if messages:
                progress_s = time.monotonic()
            elif time.monotonic() - progress_s > STALL_SECONDS_MAX:
                raise ClientStuck(f"no more records of {sorted(waiting)}")
            for message in messages:
                place = str(message.topic()), int(message.partition() or 0)
                if self._take(place, message) >= self._ends[place]:
                    waiting.discard(place)

    def _take(self, place: Place, message: Message) -> int:
        """Where the reader is now."""
        offset = int(message.offset() or 0)
        error = message.error()
        if error is not None:
            return offset if error.code() == KafkaError._PARTITION_EOF else 0
        if offset < self._ends[place]:
            self._scans[place].read(
                offset,
                message_stamp(message),
                as_bytes(message.key()),
                is_tombstone=message.value() is None,
            )
        return offset + 1

    def _ends_of(self, place: Place) -> tuple[int, int]:
        asked_at_s = time.monotonic()
        low, high = self._consumer.get_watermark_offsets(
            TopicPartition(*place), timeout=ANSWER_SECONDS_MAX
        )
        self._bounds.note(place, asked_at_s, int(high))
        return int(low), int(high)

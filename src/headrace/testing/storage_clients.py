"""Idempotent producers of a simulated node, and what they remember of every answer.

An append that was answered with an error, or not at all, is *unsure*: the producer sends it again,
with the same sequence numbers, before anything new. What the answers promise is judged by
``storage_judge``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from headrace.model.errors import CoordinatorLoading, StorageFailure
from headrace.records.build import KeyAndValue, build_batch

if TYPE_CHECKING:
    from random import Random

    from headrace.model.topic import TopicId, TopicPartition
    from headrace.storage.log import SegmentedLog
    from headrace.storage.log_port import Appended
    from headrace.testing.storage_node import StorageNode

IN_FLIGHT_MAX = 4
"""Appends of one producer that wait for an answer; a log knows the last five batches again."""
KEYS = tuple(b"key-%d" % number for number in range(5))


class State(Enum):
    """What a producer knows of an append."""

    UNSURE = "unsure"
    APPLIED = "applied"
    ACKNOWLEDGED = "acknowledged"
    ABANDONED = "abandoned"


@dataclass(eq=False)
class SentBatch:
    """One batch for one partition; ``offset`` as the log answered."""

    history: PartitionHistory
    producer_id: int
    sequence: int
    pairs: list[KeyAndValue]
    offset: int | None = None
    is_power_safe: bool = False


@dataclass(eq=False)
class SentAppend:
    """Batches that were sent as one."""

    producer: str
    timestamp_ms: int
    batches: list[SentBatch]
    state: State = State.UNSURE
    tries: int = 0


@dataclass(eq=False)
class PartitionHistory:
    """All that was sent to one partition, and the bounds within which its log must lie."""

    partition: TopicPartition
    topic_id: TopicId
    is_compacted: bool
    values: set[bytes] = field(default_factory=set)
    start_floor: int = 0
    """Records below were deleted, and somebody was told."""
    start_ceiling: int = 0
    """Records from here on were never to be deleted."""
    synced_end: int = 0
    """The greatest recovery point seen while the topic promised the page cache: all below was
    synced. (Under fsync what was synced and never shown may go.)"""
    shown_end: int = 0
    """Readers have been shown everything below."""
    shown_safe_end: int = 0
    """As ``shown_end``, where the topic promises to survive a loss of power."""
    cut_from: int | None = None
    """A truncation to here was begun and may have happened in part."""
    is_switching: bool = False
    """The topic is on its way to another durability, and nobody has been told."""
    aborted: list[tuple[int, int, int]] = field(default_factory=list)
    """(producer id, first offset, offset of the marker) of aborted transactions."""

    def look_at(self, log: SegmentedLog) -> None:
        """Take down what the running log promises."""
        self.shown_end = max(self.shown_end, log.high_watermark)
        self.start_ceiling = max(self.start_ceiling, log.log_start_offset)
        if self.is_switching or log.failure is not None:
            return
        if log.is_synced:
            self.shown_safe_end = max(self.shown_safe_end, log.high_watermark)
        else:
            self.synced_end = max(self.synced_end, log.recovery_point)

    def forget_from(self, offset: int) -> None:
        """The log was cut there on purpose, or lost what it never promised."""
        self.synced_end = min(self.synced_end, offset)
        self.shown_end = min(self.shown_end, offset)
        self.shown_safe_end = min(self.shown_safe_end, offset)
        self.aborted = [entry for entry in self.aborted if entry[2] < offset]


class Clients:
    """All producers of a workload."""

    def __init__(self, chance: Random) -> None:
        self.histories: dict[tuple[TopicId, int], PartitionHistory] = {}
        self.appends: list[SentAppend] = []
        self.acknowledged_count = 0
        self._chance = chance
        self._producer_ids: dict[str, int] = {}
        self._ids_seen: set[int] = set()
        self._sequences: dict[tuple[int, PartitionHistory], int] = {}
        self._serial = 0

    def history(self, node: StorageNode, partition: TopicPartition) -> PartitionHistory | None:
        """That of the log which is there now; None if there is no such topic."""
        log = node.log(partition)
        if log is None:
            return None
        key = (log.topic_id, partition.partition)
        if key not in self.histories:
            is_compacted = "compact" in log.config.cleanup_policy
            self.histories[key] = PartitionHistory(partition, log.topic_id, is_compacted)
        return self.histories[key]

    # --- producing --------------------------------------------------------------------------------

    def produce(self, node: StorageNode, producer: str, partitions: list[TopicPartition]) -> None:
        """One new append to all of ``partitions``, after those that are to be sent again."""
        try:
            self.producer_id(node, producer)
        except CoordinatorLoading:
            return
        histories = [self.history(node, partition) for partition in partitions]
        known = [history for history in histories if history is not None]
        if known and self.retry(node, producer) and not self._is_blocked(producer):
            append = SentAppend(producer, node.clock.now_ms(), [])
            for history in known:
                append.batches.append(self._new_batch(node, producer, history))
            self.appends.append(append)
            self._send(node, append)

    def retry(self, node: StorageNode, producer: str) -> bool:
        """Send again what is unsure, in order; whether all of it was taken."""
        for append in self.appends:
            if append.producer == producer and append.state is State.UNSURE:
                self._send(node, append)
                if append.state is State.UNSURE:
                    return False
        return True

    def retry_all(self, node: StorageNode) -> None:
        for producer in list(self._producer_ids):
            self.retry(node, producer)

    def reset(self, producer: str) -> None:
        """Begin anew under another producer id; what is unsure is given up."""
        self._producer_ids.pop(producer, None)
        for append in self.appends:
            if append.producer == producer and append.state in (State.UNSURE, State.APPLIED):
                append.state = State.ABANDONED

    def reset_all(self) -> None:
        for producer in list(self._producer_ids):
            self.reset(producer)

    def producer_id(self, node: StorageNode, producer: str) -> int:
        if producer not in self._producer_ids:
            producer_id = node.producer_ids.allocate()
            assert producer_id not in self._ids_seen, f"producer id {producer_id} was given twice"
            self._ids_seen.add(producer_id)
            self._producer_ids[producer] = producer_id
        return self._producer_ids[producer]

    def _is_blocked(self, producer: str) -> bool:
        states = (append.state for append in self.appends if append.producer == producer)
        return sum(state is State.APPLIED for state in states) >= IN_FLIGHT_MAX

    def _new_batch(self, node: StorageNode, producer: str, history: PartitionHistory) -> SentBatch:
        producer_id = self.producer_id(node, producer)
        pairs = [self._new_pair(history) for _ in range(self._chance.randint(1, 2))]
        place = (producer_id, history)
        sequence = self._sequences.get(place, 0)
        self._sequences[place] = sequence + len(pairs)
        return SentBatch(history, producer_id, sequence, pairs)

    def _new_pair(self, history: PartitionHistory) -> KeyAndValue:
        self._serial += 1
        text = f"{history.partition} {self._serial} "
        value = text.ljust(self._chance.randint(20, 70), ".").encode()
        history.values.add(value)
        return (self._chance.choice(KEYS), value)

    def _send(self, node: StorageNode, append: SentAppend) -> None:
        entries = []
        for batch in append.batches:
            log = node.log(batch.history.partition)
            if log is None or log.topic_id != batch.history.topic_id:
                self.reset(append.producer)
                return
            entries.append((log, _encoded(append, batch)))
        append.tries += 1
        try:
            answers = node.logs.append(entries)
        except StorageFailure:
            return
        for (log, _), batch, answer in zip(entries, append.batches, answers, strict=True):
            _note_answer(append, batch, answer)
            batch.is_power_safe = log.is_synced
        append.state = State.APPLIED
        number = max(answer.commit_number for answer in answers)
        node.logs.when_durable(number, lambda error: self._answered(append, error))
        node.background.breathe()

    def _answered(self, append: SentAppend, error: BaseException | None) -> None:
        if append.state is not State.APPLIED:
            return
        append.state = State.ACKNOWLEDGED if error is None else State.UNSURE
        self.acknowledged_count += error is None


def _note_answer(append: SentAppend, batch: SentBatch, answer: Appended) -> None:
    where = f"{batch.history.partition} at {answer.base_offset}"
    assert append.tries > 1 or not answer.is_duplicate, f"{where}: a new batch called a duplicate"
    if batch.offset is not None:
        assert answer.is_duplicate, f"{where}: taken again, though it is at {batch.offset}"
        assert answer.base_offset == batch.offset, f"{where}: was at {batch.offset} before"
    batch.offset = answer.base_offset


def _encoded(append: SentAppend, batch: SentBatch) -> bytearray:
    return build_batch(
        batch.pairs,
        timestamp_ms=append.timestamp_ms,
        producer_id=batch.producer_id,
        producer_epoch=0,
        base_sequence=batch.sequence,
    )

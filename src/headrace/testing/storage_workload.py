"""One seeded life of a storage node, with everything in it that changes files.

Idempotent appends to one and to several partitions, rolls, checkpoints, retention, compaction,
DeleteRecords, truncation, transactions, topics that come and go, settings, a change of durability,
metadata snapshots, and a clean stop and start in the middle. Errors of the disk are taken as a
broker's clients take them: noted, and tried again later.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

from headrace.model.errors import CoordinatorLoading, HeadraceError, StorageFailure
from headrace.model.topic import TopicPartition
from headrace.records.build import build_batch
from headrace.storage.log_port import Origin
from headrace.testing.storage_clients import Clients, State
from headrace.testing.storage_judge import judge, settle_accounts
from headrace.testing.storage_metadata import MetadataModel
from headrace.testing.storage_node import StorageNode

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.storage.log import SegmentedLog
    from headrace.testing.faulty_disk import FaultyDisk

SAFE = TopicPartition("safe", 0)
FAST = TopicPartition("fast", 0)
TABLE = TopicPartition("table", 0)
PASSING = TopicPartition("passing", 0)
LASTING = [SAFE, FAST, TABLE]
SMALL = {
    "internal.segment.bytes": "600",
    "index.interval.bytes": "100",
    "file.delete.delay.ms": "1000",
}
RETENTION_BYTES = 600
STARTS_MAX = 3
BATCH_RECORDS_MAX = 2
_ABORT_KEY, _COORDINATOR_EPOCH = b"\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00\x07"


class StorageWorkload:
    """``run`` goes through it once; ``recover`` and ``live_on`` follow after a crash."""

    def __init__(self, disk: FaultyDisk, seed: int, *, is_slow: bool = False) -> None:
        self._seed = seed
        self._chance = Random(seed)
        self.disk = disk
        self.node = StorageNode(disk, Random(seed) if is_slow else None)
        self.clients = Clients(Random(seed))
        self.metadata = MetadataModel()

    def run(self) -> None:
        """Everything but the last stop."""
        self.start()
        self._create_topics()
        self._do_all(self._first_steps())
        self.restart()
        self._do_all(self._second_steps())

    def _do_all(self, steps: list[Callable[[], None]]) -> None:
        self._chance.shuffle(steps)
        for step in steps:
            step()
            self._produce(2)
            self.look()

    def _first_steps(self) -> list[Callable[[], None]]:
        return [
            self._do_chores,
            self._delete_records,
            self._abort_transaction,
            self._delete_passing_topic,
            lambda: self.metadata.alter(self.node, "fast", "retention.ms", "86400000"),
            lambda: self._produce_to(LASTING),
        ]

    def _second_steps(self) -> list[Callable[[], None]]:
        return [
            self._do_chores,
            lambda: self._truncate(SAFE),
            lambda: self._truncate(FAST),
            self._create_passing_topic,
            self._switch_durability,
            lambda: self._produce_to(LASTING),
        ]

    # --- starting and stopping --------------------------------------------------------------------

    def start(self) -> None:
        """As an operator does: a start that fails is tried again."""
        for attempt in range(STARTS_MAX):
            try:
                self.node.start()
            except (HeadraceError, OSError):
                self.disk.kill()
                if attempt == STARTS_MAX - 1:
                    raise
            else:
                return

    def stop(self) -> bool:
        """The clean stop; False if it could not be one."""
        try:
            self.node.stop()
        except (HeadraceError, OSError):
            return False
        finally:
            # Answers that came with the stop are answers, and what is left was never given.
            self.look()
        return True

    def restart(self) -> None:
        if not self.stop():
            self.disk.kill()
        self.recover(power_lost=False)

    def recover(self, *, power_lost: bool) -> None:
        """Start over what is left, and judge it."""
        self.start()
        try:
            self._judge(power_lost=power_lost)
        except StorageFailure:
            # A read that failed once: readers try again, and the disk is sound by now.
            self._judge(power_lost=power_lost)
        settle_accounts(self.node, self.clients, self.metadata, power_lost=power_lost)

    def live_on(self) -> None:
        """The disk is sound again: everything that was unsure is taken now, and more."""
        node, clients = self.node, self.clients
        self._create_topics()
        clients.retry_all(node)
        for partition in (*LASTING, PASSING):
            clients.produce(node, "A", [partition])
        clients.produce(node, "B", LASTING)
        node.background.run_all()
        settled = (State.ACKNOWLEDGED, State.ABANDONED)
        open_ones = [append for append in clients.appends if append.state not in settled]
        assert not open_ones, f"refused without a reason: {open_ones}"
        self.look()
        self._judge(power_lost=False)

    def _judge(self, *, power_lost: bool) -> None:
        judge(self.node, self.clients, self.metadata, power_lost=power_lost)

    def look_back(self) -> None:
        """After a crash: what the process had promised in its last moment."""
        if self.node.is_serving:
            self.look()

    def look(self) -> None:
        """Take down what the logs promise now."""
        for log in self.node.logs.logs():
            history = self.clients.history(self.node, log.partition)
            found = self.node.log(log.partition)
            if history is not None and found is not None:
                history.look_at(found)

    # --- the steps --------------------------------------------------------------------------------

    def _create_topics(self) -> None:
        durability = "fsync" if self._seed % 2 else "page-cache"
        compact = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
        create = self.metadata.create
        create(self.node, "safe", 1, {**SMALL, "durability": "fsync"})
        create(self.node, "fast", 1, {**SMALL, "retention.bytes": str(RETENTION_BYTES)})
        create(self.node, "table", 1, {**SMALL, **compact, "durability": durability})
        self._create_passing_topic()

    def _create_passing_topic(self) -> None:
        self.metadata.create(self.node, "passing", 1, {**SMALL, "durability": "fsync"})
        self.clients.produce(self.node, "passer", [PASSING])

    def _delete_passing_topic(self) -> None:
        self.metadata.delete(self.node, "passing")

    def _produce(self, count: int) -> None:
        for _ in range(count):
            width = self._chance.choice((1, 1, 1, 2))
            self._produce_to(self._chance.sample(LASTING, width))

    def _produce_to(self, partitions: list[TopicPartition]) -> None:
        self.clients.produce(self.node, self._chance.choice("AB"), partitions)

    def _do_chores(self) -> None:
        """Checkpoints, retention, compaction, and files whose time has come."""
        node = self.node
        node.background.advance(61)
        log, history = node.log(FAST), self.clients.history(node, FAST)
        if log is not None and history is not None:
            history.start_ceiling = max(history.start_ceiling, _retained_from(log))
        for _ in range(2):
            with suppress(StorageFailure):
                # Housekeeping tries again in the next round.
                node.chores.run()
            node.background.advance(2)

    def _delete_records(self) -> None:
        log = self.node.log(FAST)
        history = self.clients.history(self.node, FAST)
        if log is None or history is None:
            return
        offset = (log.log_start_offset + log.high_watermark) // 2
        history.start_ceiling = max(history.start_ceiling, offset)
        try:
            log.delete_records_before(offset)
        except StorageFailure:
            return
        history.start_floor = offset

    def _truncate(self, partition: TopicPartition) -> None:
        """As a follower does when the leader's log went another way."""
        log = self.node.log(partition)
        history = self.clients.history(self.node, partition)
        if log is None or history is None:
            return
        self.node.background.run_all()
        self.look()
        offset = max(log.log_start_offset, log.log_end_offset - 3)
        history.cut_from = offset - BATCH_RECORDS_MAX + 1
        history.start_floor = min(history.start_floor, history.cut_from)
        try:
            log.truncate_to(offset)
        except StorageFailure:
            self.clients.reset_all()
            return
        history.cut_from = None
        self._forget_from(log)

    def _forget_from(self, log: SegmentedLog) -> None:
        history = self.clients.history(self.node, log.partition)
        assert history is not None
        history.forget_from(log.log_end_offset)
        for append in self.clients.appends:
            for batch in append.batches:
                is_cut = batch.offset is not None and batch.offset >= log.log_end_offset
                if batch.history is history and is_cut:
                    append.state = State.ABANDONED
                    batch.offset = None
        self.clients.reset_all()

    def _switch_durability(self) -> None:
        history = self.clients.history(self.node, FAST)
        if history is not None:
            history.is_switching = True
            self.metadata.alter(self.node, "fast", "durability", "fsync")
            history.is_switching = False

    def _abort_transaction(self) -> None:
        log = self.node.log(FAST)
        history = self.clients.history(self.node, FAST)
        if log is None or history is None:
            return
        try:
            producer_id = self.clients.producer_id(self.node, "transactional")
        except CoordinatorLoading:
            return
        value = b"aborted " + str(producer_id).encode()
        now_ms = self.node.clock.now_ms()
        data = build_batch(
            [(b"k", value)],
            timestamp_ms=now_ms,
            transactional=True,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0,
        )
        marker = build_batch(
            [(_ABORT_KEY, _COORDINATOR_EPOCH)],
            timestamp_ms=now_ms,
            transactional=True,
            control=True,
            producer_id=producer_id,
            producer_epoch=0,
        )
        history.values.add(value)
        try:
            first = self.node.logs.append([(log, data)])[0]
            ended = self.node.logs.append([(log, marker)], origin=Origin.COORDINATOR)[0]
        except StorageFailure:
            return
        history.aborted.append((producer_id, first.base_offset, ended.base_offset))


def _retained_from(log: SegmentedLog) -> int:
    """The base of the first segment that retention by size has to keep."""
    surplus_bytes = log.size_bytes - RETENTION_BYTES
    offset = log.log_start_offset
    for segment, following in pairwise(log.segments):
        surplus_bytes -= segment.known_size()
        if surplus_bytes < 0:
            break
        offset = max(offset, following.base_offset)
    return offset

"""A shard of groups over a log on a simulated disk, with transactions, and a model of both.

The model knows what Kafka promises and nothing of how it is done here: of all commits of an offset
the one with the last *record* counts, if it was made without a transaction or in one that was
committed; a tombstone ends all that was written before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from headrace.broker.group_shards import GroupShard, SteadyClock
from headrace.coordination.groups.commands import (
    CommitOffsets,
    CommitTransactionalOffsets,
    DeleteGroup,
    DeleteOffsets,
    FetchOffsets,
    ForgetTopic,
    OffsetToCommit,
)
from headrace.coordination.groups.consumer_topics import TopicCatalogue
from headrace.coordination.groups.registry import GroupRegistry, GroupSettings
from headrace.model.errors import GroupNotFound, HeadraceError
from headrace.model.topic import CONSUMER_OFFSETS_TOPIC, TopicPartition
from headrace.storage.compaction import Compactor
from headrace.storage.control_batch import build_end_marker
from headrace.storage.log_port import Origin
from headrace.testing.storage_bench import DATA, StorageBench

if TYPE_CHECKING:
    from headrace.storage.log import SegmentedLog

GROUPS = ("g", "h")
PARTITIONS = tuple(TopicPartition(topic, index) for topic in "ab" for index in range(2))
PRODUCERS = (7, 8, 9)
SEGMENT_BYTES = 600
DELETE_RETENTION_MS = 10_000

Key = tuple[str, TopicPartition]


@dataclass
class Written:
    """One record of an offset. Without a producer it counts at once."""

    offset: int
    producer_id: int | None
    is_decided: bool


@dataclass
class Model:
    """The records of each key since its last tombstone, in their order."""

    records: dict[Key, list[Written]] = field(default_factory=dict)

    def commit(self, key: Key, offset: int, producer_id: int | None = None) -> None:
        written = Written(offset, producer_id, producer_id is None)
        self.records.setdefault(key, []).append(written)

    def end(self, producer_id: int, is_commit: bool) -> None:
        for key, records in self.records.items():
            mine = [r for r in records if r.producer_id == producer_id and not r.is_decided]
            for record in mine:
                record.is_decided = True
            if not is_commit:
                self.records[key] = [r for r in records if not any(r is each for each in mine)]

    def delete(self, key: Key) -> None:
        self.records.pop(key, None)

    def committed(self) -> dict[Key, int]:
        decided = {
            key: [record.offset for record in records if record.is_decided]
            for key, records in self.records.items()
        }
        return {key: offsets[-1] for key, offsets in decided.items() if offsets}

    def unstable(self) -> set[Key]:
        return {
            key
            for key, records in self.records.items()
            if any(not record.is_decided for record in records)
        }


State = tuple[dict[Key, int], Any, set[str]]
"""Committed offsets, pending ones, and the groups that have either."""


class World:
    """Acts by chance; ``check`` compares with the model, and with what a restart would find."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.model = Model()
        self.bench = StorageBench()
        self.epochs = dict.fromkeys(PRODUCERS, 0)
        self.commits = 0
        self._log = self._create_log()
        self._compactor = Compactor(DATA, self.bench.manager.environment)
        self.shard = self.loaded()

    def _create_log(self) -> SegmentedLog:
        return self.bench.log(
            CONSUMER_OFFSETS_TOPIC,
            cleanup_policy="compact",
            min_cleanable_dirty_ratio=0,
            internal_segment_bytes=SEGMENT_BYTES,
            delete_retention_ms=DELETE_RETENTION_MS,
        )

    def loaded(self) -> GroupShard:
        """A shard that has read what the log holds now."""
        registry = GroupRegistry(GroupSettings(), lambda: "id")
        clock = SteadyClock(self.bench.clock)
        shard = GroupShard(
            self._log, registry, TopicCatalogue(), self.bench.manager, clock, self.bench.background
        )
        while shard.is_loading:
            shard.load_some(self.chance.randint(1, 5))
        return shard

    # --- acts -----------------------------------------------------------------------------------

    def act(self) -> None:
        self.bench.clock.advance_ms(self.chance.randint(1, 3_000))
        acts = (self.commit, self.commit_pending, self.end, self.delete, self.compact, self.restart)
        (act,) = self.chance.choices(acts, weights=(4, 7, 5, 1, 2, 1))
        act()

    def commit(self) -> None:
        group_id, offsets = self.chance.choice(GROUPS), self._some_offsets()
        assert self.ask(CommitOffsets(group_id, "", None, -1, offsets)) == [None] * len(offsets)
        for wish in offsets:
            self.model.commit((group_id, wish.partition), wish.offset)

    def commit_pending(self) -> None:
        group_id, offsets = self.chance.choice(GROUPS), self._some_offsets()
        producer_id = self.chance.choice(PRODUCERS)
        command = CommitTransactionalOffsets(
            group_id, "", None, -1, offsets, producer_id, self.epochs[producer_id]
        )
        assert self.ask(command) == [None] * len(offsets)
        for wish in offsets:
            self.model.commit((group_id, wish.partition), wish.offset, producer_id)

    def end(self) -> None:
        self.end_of(self.chance.choice(PRODUCERS), is_commit=self.chance.random() < 0.6)

    def end_of(self, producer_id: int, *, is_commit: bool) -> None:
        self.epochs[producer_id] += self.chance.randint(0, 1)
        epoch = self.epochs[producer_id]
        marker = build_end_marker(
            producer_id,
            epoch,
            is_commit=is_commit,
            coordinator_epoch=0,
            timestamp_ms=self.bench.clock.now_ms(),
        )
        self.bench.manager.append([(self._log, marker)], origin=Origin.COORDINATOR)
        self.shard.transaction_ended(producer_id, is_commit)
        self.model.end(producer_id, is_commit)

    def delete(self) -> None:
        group_id, partition = self.chance.choice(GROUPS), self.chance.choice(PARTITIONS)
        kind = self.chance.randrange(3)
        if kind == 0:
            gone = [(group_id, partition)]
            reply = self.ask(DeleteOffsets(group_id, [partition]))
        elif kind == 1:
            gone = [(group_id, each) for each in PARTITIONS]
            reply = self.ask(DeleteGroup(group_id))
        else:
            gone = [(g, p) for g in GROUPS for p in PARTITIONS if p.topic == partition.topic]
            reply = self.ask(ForgetTopic(partition.topic))
        if isinstance(reply, HeadraceError):
            assert isinstance(reply, GroupNotFound)
            assert not any(self.model.records.get((group_id, each)) for each in PARTITIONS)
        for key in gone:
            self.model.delete(key)

    def compact(self) -> None:
        """An open transaction would stop it, so all are ended before, now and then."""
        if self.chance.random() < 0.5:
            for producer_id in PRODUCERS:
                self.end_of(producer_id, is_commit=self.chance.random() < 0.6)
        self._compactor.run([self._log], self.bench.clock.now_ms())
        self.bench.background.run_all()

    def restart(self) -> None:
        """The process is killed: what it knew of producers is read from the log again."""
        self.bench.disk.kill()
        self.bench.start()
        self._log = self.bench.get(CONSUMER_OFFSETS_TOPIC)
        self._compactor = Compactor(DATA, self.bench.manager.environment)
        self.shard = self.loaded()

    def _some_offsets(self) -> list[OffsetToCommit]:
        partitions = self.chance.sample(PARTITIONS, self.chance.randint(1, len(PARTITIONS)))
        self.commits += 1
        return [OffsetToCommit(partition, self.commits, -1, "") for partition in partitions]

    def ask(self, command: Any) -> Any:
        replies: list[Any] = []
        self.shard.submit(command, replies.append)
        (reply,) = replies
        return reply

    @property
    def log_bytes(self) -> int:
        return self._log.size_bytes

    # --- judgement ------------------------------------------------------------------------------

    def check(self) -> None:
        state = state_of(self.shard)
        assert state[0] == self.model.committed()
        assert set(state[1]) == self.model.unstable()
        assert state_of(self.loaded()) == state
        unstable = self.model.unstable()
        for group_id in GROUPS:
            reply = self.ask(FetchOffsets(group_id, list(PARTITIONS), require_stable=True))
            for fetched in reply:
                assert fetched.is_unstable == ((group_id, fetched.partition) in unstable)

    def check_log(self) -> None:
        """Nothing of a transaction is undecided for the log that is decided for the groups."""
        open_ids = {p.producer_id for p in self._log.producers() if p.transaction_start_offset >= 0}
        waiting = {
            record.producer_id
            for records in self.model.records.values()
            for record in records
            if not record.is_decided
        }
        assert waiting <= open_ids


def state_of(shard: GroupShard) -> State:
    offsets = shard.registry.offsets
    committed = {
        (group_id, partition): found.offset
        for group_id in offsets.group_ids()
        for partition, found in offsets.of_group(group_id).items()
    }
    groups = set(offsets.all_group_ids())
    assert groups <= shard.registry.groups.keys()
    return committed, offsets.pending.snapshot(), groups

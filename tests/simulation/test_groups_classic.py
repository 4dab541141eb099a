"""Classic groups in virtual time: members join, leave, stall, die and lose answers, and the
coordinator itself restarts from its log. One seed is one world, and the same one every time.

Checked all along: no partition has two owners in one generation, no commit is taken from a member
that a newer generation or a newer instance has replaced, no request is answered twice. Checked when
all is quiet: every live member is in, every partition has an owner, every acknowledged offset is
there.
"""

from __future__ import annotations

from functools import partial
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from headrace.coordination.groups.classic_states import ClassicState
from headrace.coordination.groups.commands import (
    CommitOffsets,
    Heartbeat,
    Joined,
    LeaveGroup,
    LeavingMember,
    OffsetToCommit,
    Synced,
    SyncGroup,
)
from headrace.coordination.groups.registry import GroupSettings
from headrace.model.errors import HeadraceError, MemberIdRequired, RebalanceInProgress
from headrace.model.topic import TopicPartition
from headrace.testing.group_bench import GROUP, GroupBench, join_command

if TYPE_CHECKING:
    from collections.abc import Callable

PARTITION_COUNT = 24
SESSION_MS = 6_000
REBALANCE_MS = 8_000
HEARTBEAT_MS = 2_000
REQUEST_TIMEOUT_MS = 10_000
CHAOS_MS = 60_000
QUIET_MS = 60_000
EVENTS_MAX = 2_000_000
SETTINGS = GroupSettings(initial_rebalance_delay_ms=500)


def range_assignment(member_ids: list[str]) -> dict[str, bytes]:
    """Contiguous runs, as even as possible: what the leader of a real group would send."""
    ordered = sorted(member_ids)
    size, larger = divmod(PARTITION_COUNT, len(ordered))
    assignment, start = {}, 0
    for index, member_id in enumerate(ordered):
        end = start + size + (index < larger)
        assignment[member_id] = ",".join(map(str, range(start, end))).encode()
        start = end
    return assignment


class _Reaction:
    """The token of a request: what its sender does with the answer."""

    def __init__(self, react: Callable[[Any], None]) -> None:
        self.react = react
        self.is_done = False


class World:
    """Time, the coordinator, and what must hold."""

    def __init__(self, seed: int, size: int) -> None:
        self.random = Random(seed)
        self.bench = GroupBench(SETTINGS)
        self.now_ms = self.bench.now_ms
        self.chaos_end_ms = self.now_ms + CHAOS_MS
        self.events: list[tuple[int, int, Callable[[], None]]] = []
        self.order = count()
        self.owners: dict[int, dict[int, str]] = {}
        """Generation -> partition -> who was told that it owns it."""
        self.latest_generation = 0
        self.retired_ids: set[str] = set()
        self.accepted: dict[int, int] = {}
        self.commits_taken = 0
        self.clients = [Client(self, number) for number in range(size)]

    @property
    def is_chaos(self) -> bool:
        return self.now_ms < self.chaos_end_ms

    def after(self, delay_ms: int, action: Callable[[], None]) -> None:
        heappush(self.events, (self.now_ms + delay_ms, next(self.order), action))

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def send(self, command: object, react: Callable[[Any], None]) -> None:
        """``react`` hears the answer, unless chaos swallows it or the coordinator restarts."""
        is_lost = self.is_chaos and self.chance(0.02)
        token = _Reaction((lambda reply: None) if is_lost else react)
        self.bench.shard.submit(command, token, self.now_ms)
        self.deliver()

    def deliver(self) -> None:
        """Hand out the answers in the order they came; clients act on them a little later."""
        replies = self.bench.port.replies
        for reaction, reply in replies.items():
            assert isinstance(reaction, _Reaction)
            assert not reaction.is_done, "a request is answered twice"
            reaction.is_done = True
            if isinstance(reply, Joined):
                self.latest_generation = max(self.latest_generation, reply.generation)
            self.after(self.random.randint(1, 20), partial(reaction.react, reply))
        replies.clear()

    def own(self, generation: int, partitions: set[int], owner: str) -> None:
        owners = self.owners.setdefault(generation, {})
        for partition in partitions:
            assert owners.setdefault(partition, owner) == owner, (generation, partition)

    def restart_coordinator(self) -> None:
        """A crash: waiting requests are forgotten, the log is all that is left."""
        self.bench.now_ms = self.now_ms
        self.bench = self.bench.restarted()
        self.latest_generation = self.bench.group().generation if self.bench.registry.groups else 0
        self.owners = {g: o for g, o in self.owners.items() if g <= self.latest_generation}
        self.check_offsets()

    def check_offsets(self) -> None:
        stored = self.bench.registry.offsets.of_group(GROUP)
        assert {p.partition: c.offset for p, c in stored.items()} == self.accepted

    def run(self) -> None:
        for _ in range(EVENTS_MAX):
            next_ms = min(
                self.events[0][0] if self.events else 1 << 62,
                self.bench.shard.next_deadline_ms() or 1 << 62,
            )
            if next_ms > self.chaos_end_ms + QUIET_MS:
                return
            self.now_ms = max(self.now_ms, next_ms)
            self.bench.shard.tick(self.now_ms)
            self.deliver()
            while self.events and self.events[0][0] <= self.now_ms:
                heappop(self.events)[2]()
        raise AssertionError("the world does not come to rest")


class Client:
    """A consumer: it trusts what it was told until it hears otherwise."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.instance_id = f"static-{number}" if world.chance(0.3) else None
        self.life = 0
        """Grows when the process restarts or gives up on a request: older answers are ignored."""
        self.is_dead = False
        self.member_id = ""
        self.generation = -1
        self.partitions: set[int] = set()
        world.after(world.random.randint(0, CHAOS_MS // 2), self.join)
        if world.chance(0.6):
            world.after(world.random.randint(1_000, CHAOS_MS), self.misbehave)

    def ask(self, command: object, react: Callable[[Any], None]) -> None:
        self.life += 1
        life = self.life
        answered = []

        def heard(reply: Any) -> None:
            answered.append(reply)
            if life == self.life and not self.is_dead:
                react(reply)

        def timed_out() -> None:
            if not answered and life == self.life and not self.is_dead:
                self.join()

        self.world.send(command, heard)
        self.world.after(REQUEST_TIMEOUT_MS + REBALANCE_MS, timed_out)

    # --- the protocol ---------------------------------------------------------------------------

    def join(self) -> None:
        if self.is_dead:
            return
        self.partitions = set()
        command = join_command(
            self.member_id,
            instance_id=self.instance_id,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
        )
        self.ask(command, self.joined)

    def joined(self, reply: Any) -> None:
        if isinstance(reply, MemberIdRequired):
            self.member_id = reply.member_id
            self.join()
        elif isinstance(reply, HeadraceError):
            self.recover(reply)
        else:
            if self.instance_id is not None and self.member_id != reply.member_id:
                self.world.retired_ids.add(self.member_id)
            self.member_id, self.generation = reply.member_id, reply.generation
            self.sync(reply)

    def sync(self, joined: Joined) -> None:
        assignments: dict[str, bytes] = {}
        if joined.leader_id == self.member_id and not joined.skip_assignment:
            assignments = range_assignment([m.member_id for m in joined.members])
        command = SyncGroup(
            GROUP, self.generation, self.member_id, self.instance_id, None, None, assignments
        )
        self.ask(command, self.synced)

    def synced(self, reply: Any) -> None:
        if not isinstance(reply, Synced):
            self.recover(reply)
            return
        self.partitions = {int(text) for text in reply.assignment.split(b",") if text}
        self.world.own(self.generation, self.partitions, self.instance_id or self.member_id)
        self.world.after(HEARTBEAT_MS, self.beat(self.life))

    def beat(self, life: int) -> Callable[[], None]:
        def send() -> None:
            if life != self.life or self.is_dead:
                return
            if self.partitions and self.world.chance(0.3):
                self.commit()
            else:
                command = Heartbeat(GROUP, self.generation, self.member_id, self.instance_id)
                self.ask(command, self.heard)

        return send

    def heard(self, reply: Any) -> None:
        if isinstance(reply, HeadraceError):
            self.recover(reply)
        else:
            self.world.after(HEARTBEAT_MS, self.beat(self.life))

    def commit(self) -> None:
        world, generation, member_id = self.world, self.generation, self.member_id
        partition = world.random.choice(sorted(self.partitions))
        world.commits_taken += 1
        offset = world.commits_taken
        entry = OffsetToCommit(TopicPartition("t", partition), offset, -1, "")
        command = CommitOffsets(GROUP, member_id, self.instance_id, generation, [entry])
        log_length = len(world.bench.port.log)
        self.ask(command, lambda reply: self.heard(None if reply == [None] else reply))
        if len(world.bench.port.log) > log_length:
            assert generation == world.latest_generation
            assert member_id not in world.retired_ids
            world.accepted[partition] = offset

    def recover(self, error: Any) -> None:
        assert isinstance(error, HeadraceError), error
        self.life += 1
        if not isinstance(error, RebalanceInProgress):
            self.member_id = ""
        self.world.after(self.world.random.randint(1, 100), self.join)

    # --- misbehaviour ---------------------------------------------------------------------------

    def misbehave(self) -> None:
        if self.is_dead or not self.world.is_chaos:
            return
        self.world.random.choice([self.stall, self.die, self.leave, self.restart])()
        self.world.after(self.world.random.randint(5_000, 30_000), self.misbehave)

    def stall(self) -> None:
        """Go silent, perhaps for longer than the session, and then carry on as if nothing was."""
        self.life += 1
        pause_ms = self.world.random.randint(100, 3 * SESSION_MS)
        resume = self.beat(self.life) if self.partitions else self.join
        self.world.after(pause_ms, resume)

    def die(self) -> None:
        self.is_dead = True

    def leave(self) -> None:
        leaving = LeavingMember(self.member_id, self.instance_id)
        self.world.send(LeaveGroup(GROUP, (leaving,)), lambda reply: None)
        self.restart()

    def restart(self) -> None:
        """A new process: nothing is remembered but the configured instance id."""
        self.life += 1
        if self.instance_id is not None and self.member_id:
            self.world.retired_ids.add(self.member_id)
        self.member_id, self.generation, self.partitions = "", -1, set()
        self.world.after(self.world.random.randint(100, 5_000), self.join)


def check_quiet(world: World) -> None:
    world.check_offsets()
    group = world.bench.group()
    alive = [client for client in world.clients if not client.is_dead]
    if not alive:
        assert group.state is ClassicState.EMPTY
        return
    assert group.state is ClassicState.STABLE
    assert set(group.members) == {client.member_id for client in alive}
    assert {client.generation for client in alive} == {group.generation}
    owned = sorted(partition for client in alive for partition in client.partitions)
    assert owned == list(range(PARTITION_COUNT))
    waiting = [m for m in group.members.values() if m.join_token or m.sync_token]
    assert not waiting
    assert not group.pending_ids


@pytest.mark.parametrize("tens", range(20))
def test_groups_come_to_rest_after_chaos(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        world = World(seed, size=Random(seed).randint(1, 16))
        if seed % 3 == 0:
            for _ in range(3):
                world.after(world.random.randint(5_000, CHAOS_MS), world.restart_coordinator)
        world.run()
        check_quiet(world)


def test_group_of_hundreds_comes_to_rest() -> None:
    world = World(seed=7, size=300)
    world.run()
    check_quiet(world)
    assert world.commits_taken > 100


def test_same_seed_is_the_same_world() -> None:
    logs = []
    for _ in range(2):
        world = World(seed=11, size=12)
        world.run()
        logs.append(world.bench.port.log)
    assert logs[0] == logs[1]
    assert logs[0]

"""Classic groups in virtual time: one coordinator over its log, and the consumers that use it.

Consumers trust what they were told until they hear otherwise. They stall, die, leave, come back as
another process while the old one still commits, and start twice under one instance id. Requests
and answers get lost, the disk refuses writes, and the coordinator crashes: then its log, up to what
was durable, is all that is left. The judgement of a commit never asks the coordinator: it rests on
the answers that went out.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

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
from headrace.model.errors import (
    CoordinatorNotAvailable,
    FencedInstance,
    HeadraceError,
    MemberIdRequired,
    RebalanceInProgress,
)
from headrace.model.topic import TopicPartition
from headrace.testing.group_bench import GROUP, GroupBench, join_command

if TYPE_CHECKING:
    from collections.abc import Callable

PARTITION_COUNT_MIN = 24
SESSION_MS = 6_000
REBALANCE_MS = 8_000
HEARTBEAT_MS = 2_000
REQUEST_TIMEOUT_MS = 10_000
CHAOS_MS = 45_000
QUIET_MS = 60_000
ZOMBIE_MS = 15_000
EVENTS_MAX = 2_000_000
SETTINGS = GroupSettings(initial_rebalance_delay_ms=500)
NEVER_MS = 1 << 62


def range_assignment(member_ids: list[str], partition_count: int) -> dict[str, bytes]:
    """Contiguous runs, as even as possible: what the leader of a real group would send."""
    ordered = sorted(member_ids)
    size, larger = divmod(partition_count, len(ordered))
    assignment, start = {}, 0
    for index, member_id in enumerate(ordered):
        end = start + size + (index < larger)
        assignment[member_id] = ",".join(map(str, range(start, end))).encode()
        start = end
    return assignment


class _Reaction:
    """The token of a request: what the world sees in the answer, and what its sender does."""

    def __init__(self, judge: Callable[[Any], None], react: Callable[[Any], None]) -> None:
        self.judge = judge
        self.react = react
        self.is_done = False


def nothing(_: Any) -> None:
    """An answer that nobody hears."""


class World:
    """Time, the coordinator, and what must hold."""

    def __init__(self, seed: int, size: int) -> None:
        self.random = Random(seed)
        self.partition_count = max(PARTITION_COUNT_MIN, size)
        self.bench = GroupBench(SETTINGS)
        self.bench.port.is_lazy = self.is_lazy = self.random.random() < 0.3
        """Records are durable only later, and a crash takes what is not."""
        self.durable_length = 0
        self._is_sync_due = False
        self.now_ms = self.bench.now_ms
        self.chaos_end_ms = self.now_ms + CHAOS_MS
        self.events: list[tuple[int, int, Callable[[], None]]] = []
        self.order = count()
        self.owners: dict[int, dict[int, str]] = {}
        """Generation -> partition -> who was told that it owns it."""
        self.latest_generation = 0
        self.instance_holders: dict[str, str] = {}
        self.doubled_ids: set[str] = set()
        """Instance ids that more than one process has used at the same time."""
        self.retired_ids: set[str] = set()
        """Members that left, or whose instance id another has taken, as far as was answered."""
        self.last_heard_ms: dict[str, int] = {}
        self.joining_ids: set[str] = set()
        """Members whose join waits for the others: no session ends meanwhile."""
        self.written: list[tuple[int, int, int]] = []
        """Position in the log, partition, offset: the commits that were taken."""
        self.acknowledged: set[int] = set()
        self.refused: set[int] = set()
        self.counts: Counter[str] = Counter()
        self.clients = [Client(self, number) for number in range(size)]

    @property
    def is_chaos(self) -> bool:
        return self.now_ms < self.chaos_end_ms

    def after(self, delay_ms: int, action: Callable[[], None]) -> None:
        heappush(self.events, (self.now_ms + delay_ms, next(self.order), action))

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    # --- requests and answers -------------------------------------------------------------------

    def send(
        self,
        command: object,
        react: Callable[[Any], None],
        judge: Callable[[Any], None] = nothing,
    ) -> None:
        """``react`` hears the answer, unless chaos swallows it or the coordinator restarts."""
        if self.is_chaos and self.chance(0.01):
            self.joining_ids.discard(getattr(command, "member_id", ""))
            return
        is_lost = self.is_chaos and self.chance(0.02)
        token = _Reaction(judge, nothing if is_lost else react)
        self.bench.shard.submit(command, token, self.now_ms)
        self.deliver()

    def deliver(self) -> None:
        """Hand out the answers in the order they came; clients act on them a little later."""
        port = self.bench.port
        if not self.is_lazy:
            self.durable_length = len(port.log)
        elif not self._is_sync_due:
            self._is_sync_due = True
            self.after(self.random.randint(1, 30), partial(self._sync, self.bench))
        for reaction, reply in port.replies.items():
            assert isinstance(reaction, _Reaction)
            assert not reaction.is_done, "a request is answered twice"
            reaction.is_done = True
            reaction.judge(reply)
            self.after(self.random.randint(1, 20), partial(reaction.react, reply))
        port.replies.clear()

    def _sync(self, bench: GroupBench) -> None:
        if bench is not self.bench:
            return
        self._is_sync_due = False
        self.durable_length = len(bench.port.log)
        bench.port.sync()
        if bench.port.replies:
            self.deliver()

    def note_joined(self, member_id: str, instance_id: str | None, reply: Any) -> None:
        self.joining_ids.discard(member_id)
        self.last_heard_ms[member_id] = self.now_ms
        if not isinstance(reply, Joined):
            return
        self.latest_generation = max(self.latest_generation, reply.generation)
        self.last_heard_ms[reply.member_id] = self.now_ms
        self.retired_ids.discard(reply.member_id)
        if instance_id is not None:
            former = self.instance_holders.get(instance_id)
            if former not in (None, reply.member_id):
                self.retired_ids.add(former)
            self.instance_holders[instance_id] = reply.member_id

    def own(self, generation: int, partitions: set[int], owner: str) -> None:
        owners = self.owners.setdefault(generation, {})
        for partition in partitions:
            assert owners.setdefault(partition, owner) == owner, (generation, partition)

    # --- commits --------------------------------------------------------------------------------

    def commit(
        self, partition: int, member: tuple[str, str | None, int], react: Callable[[Any], None]
    ) -> None:
        """``member``: its id, its instance id, and the generation that it believes in."""
        member_id, instance_id, generation = member
        self.counts["commits judged"] += 1
        offset = self.counts["commits judged"]
        entry = OffsetToCommit(TopicPartition("t", partition), offset, -1, "")
        command = CommitOffsets(GROUP, member_id, instance_id, generation, [entry])
        position = len(self.bench.port.log)
        self.send(command, react, partial(self._judge_commit_answer, offset, position))
        if len(self.bench.port.log) > position:
            assert generation == self.latest_generation, "an old generation commits"
            assert member_id not in self.retired_ids, "a replaced member commits"
            silence_ms = self.now_ms - self.last_heard_ms[member_id]
            is_alive = silence_ms <= SESSION_MS or member_id in self.joining_ids
            assert is_alive, "an expired member commits"
            self.last_heard_ms[member_id] = self.now_ms
            self.written.append((position, partition, offset))
        elif self.bench.port.is_broken:
            self.last_heard_ms[member_id] = self.now_ms  # A sign of life, though nothing is kept.

    def _judge_commit_answer(self, offset: int, position: int, reply: Any) -> None:
        if isinstance(reply, HeadraceError):
            self.counts["commits refused"] += 1
            self.refused.add(offset)
        else:
            assert reply == [None]
            assert position < self.durable_length, "acknowledged before it is durable"
            self.acknowledged.add(offset)

    # --- the coordinator ------------------------------------------------------------------------

    def restart_coordinator(self) -> None:
        """A crash: waiting requests are forgotten, the log is all that is left."""
        self.counts["restarts"] += 1
        log = self.bench.port.log[: self.durable_length]
        self.written = [entry for entry in self.written if entry[0] < self.durable_length]
        latest = {record.key: position for position, record in enumerate(log)}
        compacted = [r for position, r in enumerate(log) if latest[r.key] == position]
        self.bench.now_ms, self.bench.port.log = self.now_ms, compacted
        self.bench = self.bench.restarted()
        self.bench.port.log = log
        self.bench.port.is_lazy = self.is_lazy
        self._is_sync_due = False
        self.joining_ids.clear()
        has_group = GROUP in self.bench.registry.groups
        self.latest_generation = self.bench.group().generation if has_group else 0
        members = self.bench.group().members if has_group else {}
        assert all(generation <= self.latest_generation for generation in self.owners), (
            "somebody was told its partitions in a generation that a crash took back"
        )
        for member_id, member in members.items():
            self.last_heard_ms[member_id] = self.now_ms
            self.retired_ids.discard(member_id)
            if member.instance_id is not None:
                self.instance_holders[member.instance_id] = member_id
        self.check_offsets()

    def refuse_writes(self) -> None:
        """The disk is full, for a while."""
        self.bench.port.is_broken = True
        bench = self.bench
        self.after(self.random.randint(10, 3_000), lambda: setattr(bench.port, "is_broken", False))

    def check_offsets(self) -> None:
        stored = self.bench.registry.offsets.of_group(GROUP)
        latest = {partition: offset for _, partition, offset in self.written}
        assert {p.partition: c.offset for p, c in stored.items()} == latest
        written = {offset for _, _, offset in self.written}
        assert self.acknowledged <= written, "an acknowledged commit is lost"
        assert not self.refused & written, "a commit was refused and yet written"

    # --- time -----------------------------------------------------------------------------------

    def run_until(self, end_ms: int) -> None:
        events = self.events
        for _ in range(EVENTS_MAX):
            deadline_ms = self.bench.shard.next_deadline_ms() or NEVER_MS
            next_ms = min(events[0][0], deadline_ms) if events else deadline_ms
            if next_ms > end_ms:
                self.now_ms = end_ms
                return
            self.now_ms = max(self.now_ms, next_ms)
            if deadline_ms <= self.now_ms:
                self.bench.shard.tick(self.now_ms)
                self.deliver()
            while events and events[0][0] <= self.now_ms:
                heappop(events)[2]()
        raise AssertionError("the world does not come to rest")


class Client:
    """A consumer: it trusts what it was told until it hears otherwise."""

    def __init__(self, world: World, number: int, instance_id: str | None = None) -> None:
        self.world = world
        is_twin = instance_id is not None
        if instance_id is None and world.chance(0.3):
            instance_id = f"static-{number}"
        self.instance_id = instance_id
        self.life = 0
        """Grows when the process restarts or gives up on a request: older answers are ignored."""
        self.is_dead = False
        self.member_id = ""
        self.generation = -1
        self.partitions: set[int] = set()
        self._commits_next = False
        """Never twice in a row: only heartbeats tell of a rebalance."""
        start_ms = 1 if is_twin else world.random.randint(0, CHAOS_MS // 2)
        world.after(start_ms, self.join)
        if world.chance(0.6):
            world.after(world.random.randint(1_000, CHAOS_MS), self.misbehave)

    def ask(
        self,
        command: object,
        react: Callable[[Any], None],
        judge: Callable[[Any], None] = nothing,
    ) -> None:
        heard = self.expect(react)
        self.note_heard()
        self.world.send(command, heard, judge)

    def expect(self, react: Callable[[Any], None]) -> Callable[[Any], None]:
        """The ears for one answer; without an answer in time, join again."""
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

        self.world.after(REQUEST_TIMEOUT_MS + REBALANCE_MS, timed_out)
        return heard

    def note_heard(self) -> None:
        """A join of the instance counts for whoever holds it, should the join fail."""
        world = self.world
        for member_id in (self.member_id, world.instance_holders.get(self.instance_id or "")):
            if member_id:
                world.last_heard_ms[member_id] = world.now_ms

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
        judge = partial(self.world.note_joined, self.member_id, self.instance_id)
        self.world.joining_ids.add(self.member_id)
        self.ask(command, self.joined, judge)

    def joined(self, reply: Any) -> None:
        if isinstance(reply, MemberIdRequired):
            self.member_id = reply.member_id
            self.join()
        elif isinstance(reply, HeadraceError):
            self.recover(reply)
        else:
            self.member_id, self.generation = reply.member_id, reply.generation
            self.sync(reply)

    def sync(self, joined: Joined) -> None:
        assignments: dict[str, bytes] = {}
        if joined.leader_id == self.member_id and not joined.skip_assignment:
            member_ids = [member.member_id for member in joined.members]
            assignments = range_assignment(member_ids, self.world.partition_count)
        command = SyncGroup(
            GROUP, self.generation, self.member_id, self.instance_id, None, None, assignments
        )
        self.ask(command, self.synced, lambda reply: self.note_heard())

    def synced(self, reply: Any) -> None:
        if not isinstance(reply, Synced):
            self.recover(reply)
            return
        self.partitions = {int(text) for text in reply.assignment.split(b",") if text}
        self.world.own(self.generation, self.partitions, self.instance_id or self.member_id)
        self.world.after(HEARTBEAT_MS, partial(self.beat, self.life))

    def beat(self, life: int) -> None:
        if life != self.life or self.is_dead:
            return
        self._commits_next = not self._commits_next and self.world.chance(0.45)
        if self.partitions and self._commits_next:
            partition = self.world.random.choice(sorted(self.partitions))
            member = self.member_id, self.instance_id, self.generation
            heard = self.expect(lambda reply: self.heard(None if reply == [None] else reply))
            self.world.commit(partition, member, heard)
            if self.world.is_chaos and self.world.chance(0.3):
                # The same once more on another connection, which is slow.
                again = partial(self.world.commit, partition, member, nothing)
                self.world.after(self.world.random.randint(1, 2 * REBALANCE_MS), again)
        else:
            command = Heartbeat(GROUP, self.generation, self.member_id, self.instance_id)
            self.ask(command, self.heard)

    def heard(self, reply: Any) -> None:
        if isinstance(reply, HeadraceError):
            self.recover(reply)
        else:
            self.world.after(HEARTBEAT_MS, partial(self.beat, self.life))

    def recover(self, error: Any) -> None:
        assert isinstance(error, HeadraceError), error
        self.life += 1
        if isinstance(error, FencedInstance):
            assert self.instance_id in self.world.doubled_ids, "a lone static member is fenced"
            self.world.counts["twins fenced"] += 1
            self.die()
            return
        if not isinstance(error, RebalanceInProgress | CoordinatorNotAvailable):
            self.member_id = ""
        self.world.after(self.world.random.randint(1, 100), self.join)

    # --- misbehaviour ---------------------------------------------------------------------------

    def misbehave(self) -> None:
        if self.is_dead or not self.world.is_chaos:
            return
        faults = [self.stall, self.die, self.leave, self.restart, self.restart, self.double]
        self.world.random.choice(faults)()
        self.world.after(self.world.random.randint(5_000, 30_000), self.misbehave)

    def stall(self) -> None:
        """Go silent, perhaps for longer than the session, and then carry on as if nothing was."""
        self.life += 1
        pause_ms = self.world.random.randint(100, 3 * SESSION_MS)
        resume = partial(self.beat, self.life) if self.partitions else self.join
        self.world.after(pause_ms, resume)

    def die(self) -> None:
        self.is_dead = True

    def leave(self) -> None:
        member_id = self.member_id

        def left(reply: Any) -> None:
            if reply == [None] and member_id:
                self.world.retired_ids.add(member_id)

        leaving = LeavingMember(member_id, self.instance_id)
        self.world.send(LeaveGroup(GROUP, (leaving,)), nothing, left)
        self.restart()

    def restart(self) -> None:
        """A new process: nothing is remembered but the configured instance id. The old process
        may not be as dead as was thought."""
        self.life += 1
        if self.partitions and self.world.chance(0.5):
            self.world.doubled_ids.add(self.instance_id or "")
            Zombie(self)
        self.member_id, self.generation, self.partitions = "", -1, set()
        self.world.after(self.world.random.randint(100, 5_000), self.join)

    def double(self) -> None:
        """Somebody starts a second process with the same instance id."""
        if self.instance_id is None:
            self.restart()
        else:
            self.world.counts["twins"] += 1
            self.world.doubled_ids.add(self.instance_id)
            self.world.clients.append(Client(self.world, -1, self.instance_id))


class Zombie:
    """A process that was thought dead, committing what it was told it owns."""

    def __init__(self, client: Client) -> None:
        self._world = client.world
        self._member = client.member_id, client.instance_id, client.generation
        self._partitions = sorted(client.partitions)
        self._end_ms = self._world.now_ms + ZOMBIE_MS
        self._world.counts["zombies"] += 1
        self._world.after(1, self._commit)

    def _commit(self) -> None:
        if self._world.now_ms < self._end_ms:
            partition = self._world.random.choice(self._partitions)
            self._world.commit(partition, self._member, nothing)
            self._world.after(self._world.random.randint(100, 4_000), self._commit)

"""Consumer groups (KIP-848) in virtual time: a coordinator, its clients, and what befalls them.

Clients follow the protocol as real ones do: they revoke with delay, time out and ask again, stall,
crash, leave and come back; some that crashed go on committing, some start under an instance id that
is in use. The network loses requests and answers; the log refuses writes; the coordinator restarts
over a compacted log; topics come, grow and go. The judgement of a commit rests on the answers that
went out and on what the other clients believe they own.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from heapq import heappop, heappush
from random import Random
from typing import TYPE_CHECKING, Any

from headrace.coordination.groups.commands import CommitOffsets, OffsetToCommit
from headrace.coordination.groups.consumer import FENCE_RETRY_INTERVAL_MS, ConsumerGroups
from headrace.coordination.groups.consumer_commands import (
    ConsumerHeartbeat,
    ConsumerHeartbeatReply,
)
from headrace.coordination.groups.consumer_group import ConsumerGroup
from headrace.coordination.groups.consumer_topics import TopicCatalogue
from headrace.coordination.groups.coordinator import GroupCoordinator
from headrace.coordination.groups.offset_commands import OffsetCommands
from headrace.coordination.groups.registry import GroupRegistry, GroupSettings
from headrace.model.errors import (
    CoordinatorNotAvailable,
    FencedInstance,
    HeadraceError,
    UnreleasedInstance,
)
from headrace.model.topic import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.coordination.shard import CoordinatorRecord

SESSION_MS = 20_000
HEARTBEAT_MS = 3_000
REBALANCE_MS = 8_000
REQUEST_TIMEOUT_MS = 2_000
FAULTS_MS = 45_000
QUIET_MS = 90_000
"""Longer than a session, a rebalance time-out and the heartbeats in between."""
ZOMBIE_MS = 30_000

Partition = tuple[bytes, int]


class World:
    """Virtual time, a network, one coordinator with its log, and the partitions' owners."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now_ms = 1_000_000
        self.faults = True
        self.catalogue = TopicCatalogue()
        self.owners: dict[Partition, set[Client]] = {}
        self.clients: list[Client] = []
        self.counts: Counter[str] = Counter()
        self.accepted: dict[TopicPartition, int] = {}
        self.told_epochs: dict[str, int] = {}
        """Member id -> the epoch that the coordinator gave it last; without those that left."""
        self.last_served_ms: dict[str, int] = {}
        self.expiry_refused_ms = 0
        self._log: list[CoordinatorRecord] = []
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self._ids = 0
        self._start_coordinator()

    # --- time -----------------------------------------------------------------------------------

    def after(self, delay_ms: float, action: Callable[[], None]) -> None:
        self._sequence += 1
        heappush(self._events, (self.now_ms + int(delay_ms), self._sequence, action))

    def run(self, duration_ms: int) -> None:
        end_ms = self.now_ms + duration_ms
        while self._events and self._events[0][0] <= end_ms:
            self.now_ms, _, action = heappop(self._events)
            self._expire()
            action()
        self.now_ms = end_ms
        self._expire()

    def chance(self, probability: float) -> bool:
        return self.faults and self.random.random() < probability

    def new_id(self) -> str:
        self._ids += 1
        return f"id-{self._ids}"

    # --- the coordinator ------------------------------------------------------------------------

    def _start_coordinator(self) -> None:
        settings = GroupSettings(
            consumer_session_timeout_ms=SESSION_MS, consumer_heartbeat_interval_ms=HEARTBEAT_MS
        )
        self._registry = GroupRegistry(settings, self.new_id)
        engine = ConsumerGroups(self._registry, self.catalogue)
        offsets = OffsetCommands(self._registry)
        self._machine = GroupCoordinator(self._registry, [engine, offsets])
        for record in self._log:
            self._machine.replay(record)
        self._machine.finish_loading(self.now_ms)

    def restart_coordinator(self) -> None:
        latest = {record.key: position for position, record in enumerate(self._log)}
        self._log = [r for position, r in enumerate(self._log) if latest[r.key] == position]
        before = self.group
        self._start_coordinator()
        self.counts["restarts"] += 1
        self.last_served_ms = dict.fromkeys(self.last_served_ms, self.now_ms)
        self.check_offsets()
        after = self.group
        if before is None or after is None:
            assert before is after
            return
        assert after.members == before.members
        assert after.targets == before.targets
        assert after.patterns == before.patterns
        assert (after.epoch, after.assignment_epoch) == (before.epoch, before.assignment_epoch)

    @property
    def group(self) -> ConsumerGroup | None:
        group = self._registry.groups.get("g")
        assert group is None or isinstance(group, ConsumerGroup)
        return group

    def check_offsets(self) -> None:
        stored = self._registry.offsets.of_group("g")
        assert {partition: committed.offset for partition, committed in stored.items()} == (
            self.accepted
        )

    def _write(self, records: list[CoordinatorRecord]) -> bool:
        if records and self.chance(0.02):
            return False
        self._log += records
        for record in records:
            self._machine.replay(record)
        return True

    def _expire(self) -> None:
        while (decision := self._machine.expire_next(self.now_ms)) is not None:
            if not self._write(decision.records):
                # Nobody can be fenced while the log refuses; that is tried again.
                self.expiry_refused_ms = self.now_ms

    def _decide(self, command: Any) -> Any:
        """What the coordinator answers once it has written its records."""
        try:
            decision = self._machine.decide(command, None, self.now_ms)
        except HeadraceError as error:
            return error
        if not self._write(decision.records):
            return CoordinatorNotAvailable("the disk is full")
        ((_, reply),) = decision.replies
        return reply

    def _serve_heartbeat(
        self, command: ConsumerHeartbeat
    ) -> ConsumerHeartbeatReply | HeadraceError:
        reply = self._decide(command)
        assert isinstance(reply, ConsumerHeartbeatReply | HeadraceError)
        if isinstance(reply, ConsumerHeartbeatReply):
            self.last_served_ms[reply.member_id] = self.now_ms
            self.told_epochs[reply.member_id] = reply.member_epoch
            if reply.member_epoch < 0:
                del self.told_epochs[reply.member_id]
        return reply

    # --- the network ----------------------------------------------------------------------------

    def _deliver(self, sender: Client, serve: Callable[[], None], slowest_ms: int) -> None:
        """Requests of a client arrive in the order in which they were sent: one connection."""
        arrival_ms = self.now_ms + int(self.random.uniform(1, slowest_ms))
        sender.last_arrival_ms = max(sender.last_arrival_ms, arrival_ms)
        self.after(sender.last_arrival_ms - self.now_ms, serve)

    def send(
        self,
        sender: Client,
        command: ConsumerHeartbeat,
        answered: Callable[[ConsumerHeartbeatReply | HeadraceError | None], None],
    ) -> None:
        """``answered(None)``: no answer in time; the request may or may not have been served."""
        if self.chance(0.02):
            self.after(REQUEST_TIMEOUT_MS, lambda: answered(None))
            return

        def serve() -> None:
            reply = self._serve_heartbeat(command)
            if self.chance(0.03):
                self.after(REQUEST_TIMEOUT_MS, lambda: answered(None))
            else:
                self.after(self.random.uniform(1, 30), lambda: answered(reply))

        self._deliver(sender, serve, 30)

    def commit(self, client: Client, member_id: str, epoch: int, partition: Partition) -> None:
        self._deliver(client, partial(self._serve_commit, client, member_id, epoch, partition), 200)

    def _serve_commit(
        self, client: Client, member_id: str, epoch: int, partition: Partition
    ) -> None:
        self.counts["commits judged"] += 1
        offset = self.counts["commits judged"]
        named = TopicPartition(partition[0].hex(), partition[1])
        entry = OffsetToCommit(named, offset, -1, "")
        command = CommitOffsets("g", member_id, client.instance_id, epoch, [entry])
        reply = self._decide(command._replace(is_epoch_checked=True))
        if isinstance(reply, HeadraceError):
            self.counts["commits refused"] += 1
            return
        assert reply == [None]
        self.accepted[named] = offset
        group = self.group
        assert group is not None
        assert self.told_epochs.get(member_id) == epoch, "a commit of a fenced member"
        silence_ms = self.now_ms - self.last_served_ms[member_id]
        is_retried = self.now_ms - self.expiry_refused_ms <= FENCE_RETRY_INTERVAL_MS
        assert silence_ms <= SESSION_MS or is_retried, "a commit of an expired member"
        assert group.holder(*partition) == member_id, "a commit of another's partition"
        for other in self.owners.get(partition, ()):
            assert other.member_id == member_id or not self.is_member(other), "two owners commit"

    # --- ownership ------------------------------------------------------------------------------

    def is_member(self, client: Client) -> bool:
        member = None if self.group is None else self.group.members.get(client.member_id)
        return member is not None and not member.has_left()

    def own(self, client: Client, partition: Partition) -> None:
        owners = self.owners.setdefault(partition, set())
        for other in owners:
            assert not (self.is_member(other) and self.is_member(client)), (
                f"{partition} is owned by {other.member_id} and {client.member_id}"
            )
        owners.add(client)

    def disown(self, client: Client, partition: Partition) -> None:
        self.owners[partition].discard(client)


class Client:
    """A consumer as the protocol wants it."""

    def __init__(
        self, world: World, instance_id: str | None, names: set[str], pattern: str
    ) -> None:
        self.world = world
        self.member_id = world.new_id()
        self.instance_id = instance_id
        self.names = frozenset(names)
        self.pattern = pattern
        self.epoch = 0
        self.owned: set[Partition] = set()
        self.is_alive = True
        self.last_arrival_ms = 0
        self._wanted: set[Partition] = set()
        self._is_revoking = False
        self._is_waiting = False
        self._must_tell_all = True
        self._life = 0
        """Counts joins: what was begun in an earlier life is dropped."""
        self._stalled_until_ms = 0
        world.clients.append(self)
        world.after(world.random.uniform(0, 500), self.heartbeat)
        world.after(1_000, self._commit)

    # --- heartbeats -----------------------------------------------------------------------------

    def heartbeat(self) -> None:
        if not self.is_alive or self._is_waiting:
            return
        if self.world.now_ms < self._stalled_until_ms:
            self.world.after(self._stalled_until_ms - self.world.now_ms, self.heartbeat)
            return
        self._is_waiting = True
        self.world.send(self, self._request(), self._answered)

    def _request(self) -> ConsumerHeartbeat:
        owned: dict[bytes, frozenset[int]] = {}
        for topic_id, partition in self.owned:
            owned[topic_id] = owned.get(topic_id, frozenset()) | {partition}
        request = ConsumerHeartbeat(
            "g", self.member_id, self.epoch, self.instance_id, None, owned=owned
        )
        if self._must_tell_all or self.epoch == 0:
            request = request._replace(
                rebalance_timeout_ms=REBALANCE_MS, topic_names=self.names, pattern=self.pattern
            )
        return request

    def _answered(self, reply: ConsumerHeartbeatReply | HeadraceError | None) -> None:
        if self.world.now_ms < self._stalled_until_ms:
            delay_ms = self._stalled_until_ms - self.world.now_ms
            self.world.after(delay_ms, lambda: self._answered(reply))
            return
        self._is_waiting = False
        if not self.is_alive:
            return
        if isinstance(reply, FencedInstance | UnreleasedInstance):
            assert self._has_twin(), "a static member stands in its own way"
        if reply is None or isinstance(reply, CoordinatorNotAvailable | UnreleasedInstance):
            self._must_tell_all = True
            delay_ms = 2_000 if isinstance(reply, UnreleasedInstance) else 200
            self.world.after(delay_ms, self.heartbeat)
        elif isinstance(reply, FencedInstance):
            self.crash()
        elif isinstance(reply, HeadraceError):
            self._lose_everything()
            self.world.after(50, self.heartbeat)
        else:
            self._must_tell_all = False
            self.epoch = reply.member_epoch
            self.world.after(reply.heartbeat_interval_ms, self.heartbeat)
            if reply.assigned is not None:
                self._wanted = {(t, p) for t, numbers in reply.assigned.items() for p in numbers}
                self._reconcile()

    def _has_twin(self) -> bool:
        """Whether another process has, or had, the same instance id."""
        return any(
            other is not self and other.instance_id == self.instance_id
            for other in self.world.clients
        )

    # --- ownership ------------------------------------------------------------------------------

    def _reconcile(self) -> None:
        if self._is_revoking:
            return
        excess = self.owned - self._wanted
        if not excess:
            if self.owned != self._wanted:
                for partition in self._wanted - self.owned:
                    self.world.own(self, partition)
                self.owned = set(self._wanted)
                self.world.after(1, self.heartbeat)
            return
        self._is_revoking = True
        life = self._life
        slowest_ms = 12_000 if self.world.chance(0.03) else 1_500
        self.world.after(
            self.world.random.uniform(0, slowest_ms), lambda: self._revoked(excess, life)
        )

    def _revoked(self, excess: set[Partition], life: int) -> None:
        if life != self._life or not self.is_alive:
            return
        if self.world.now_ms < self._stalled_until_ms:
            delay_ms = self._stalled_until_ms - self.world.now_ms
            self.world.after(delay_ms, lambda: self._revoked(excess, life))
            return
        self._is_revoking = False
        self._disown(excess)
        self._reconcile()
        self.world.after(1, self.heartbeat)

    def _disown(self, partitions: set[Partition]) -> None:
        for partition in partitions:
            self.world.disown(self, partition)
        self.owned = self.owned - partitions

    def _lose_everything(self) -> None:
        self._disown(self.owned)
        self._wanted = set()
        self._is_revoking = False
        self._must_tell_all = True
        self._life += 1
        self.epoch = 0

    def _commit(self) -> None:
        if self.is_alive:
            if self.owned and self.world.now_ms >= self._stalled_until_ms:
                partition = self.world.random.choice(sorted(self.owned))
                self.world.commit(self, self.member_id, self.epoch, partition)
            self.world.after(2_500, self._commit)

    # --- misfortunes ----------------------------------------------------------------------------

    def crash(self) -> None:
        """The process is gone, or so it is thought."""
        if self.owned and self.world.chance(0.5):
            Zombie(self)
        self._lose_everything()
        self.is_alive = False

    def stall(self, duration_ms: int) -> None:
        self._stalled_until_ms = self.world.now_ms + duration_ms

    def leave(self, epoch: int) -> None:
        request = ConsumerHeartbeat("g", self.member_id, epoch, self.instance_id)
        self.crash()
        self.world.send(self, request, lambda _: None)

    def resubscribe(self, names: set[str], pattern: str) -> None:
        self.names, self.pattern = frozenset(names), pattern
        self._must_tell_all = True


class Zombie:
    """A process that was thought dead, committing what it believed to own."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._member = client.member_id, client.epoch
        self._partitions = sorted(client.owned)
        self._world = client.world
        self._end_ms = self._world.now_ms + ZOMBIE_MS
        self._world.counts["zombies"] += 1
        self._world.after(1, self._commit)

    def _commit(self) -> None:
        if self._world.now_ms < self._end_ms:
            partition = self._world.random.choice(self._partitions)
            self._world.commit(self._client, *self._member, partition)
            self._world.after(self._world.random.uniform(100, 5_000), self._commit)


class Fate:
    """What happens to the world, by chance."""

    def __init__(self, world: World, client_count: int) -> None:
        self._world = world
        self._random = world.random
        self._topic_numbers = 0
        self._partitions_max = max(12, client_count)
        for _ in range(self._random.randint(1, 3)):
            self._create_topic()
        for _ in range(client_count):
            world.after(self._random.uniform(0, FAULTS_MS / 2), self._start_client)
        self._pause_ms = 20_000 / client_count
        world.after(1_000, self._strike)

    def _strike(self) -> None:
        if not self._world.faults:
            return
        misfortune = self._random.choices(
            [
                self._crash,
                self._leave,
                self._stall,
                self._resubscribe,
                self._change_topics,
                self._world.restart_coordinator,
                self._start_client,
                self._start_twin,
            ],
            [3, 3, 3, 2, 1, 1, 5, 1],
        )[0]
        misfortune()
        self._world.after(self._random.uniform(0, 2 * self._pause_ms), self._strike)

    def _living(self) -> Client | None:
        living = [client for client in self._world.clients if client.is_alive]
        return self._random.choice(living) if living else None

    def _crash(self) -> None:
        if client := self._living():
            client.crash()

    def _stall(self) -> None:
        if client := self._living():
            client.stall(self._random.choice([3_000, 15_000, SESSION_MS + 5_000]))

    def _leave(self) -> None:
        client = self._living()
        if client is None:
            return
        is_coming_back = client.instance_id is not None and self._random.random() < 0.7
        client.leave(-2 if is_coming_back else -1)
        if is_coming_back:
            instance_id = client.instance_id
            delay_ms = self._random.uniform(100, SESSION_MS)
            self._world.after(delay_ms, lambda: self._start_client(instance_id))

    def _start_client(self, instance_id: str | None = None) -> None:
        if instance_id is None and self._random.random() < 0.3:
            instance_id = f"instance-{self._world.new_id()}"
        Client(self._world, instance_id, *self._subscription())

    def _start_twin(self) -> None:
        """Another process with an instance id that is in use: it has to wait."""
        client = self._living()
        if client is not None and client.instance_id is not None:
            self._world.counts["twins"] += 1
            self._start_client(client.instance_id)

    def _resubscribe(self) -> None:
        if client := self._living():
            client.resubscribe(*self._subscription())

    def _subscription(self) -> tuple[set[str], str]:
        names = sorted(self._world.catalogue.names())
        if self._random.random() < 0.6:
            return set(names), ""
        if self._random.random() < 0.5:
            return set(), self._random.choice(["t-.*", "t-[0-2]", "none"])
        return set(self._random.sample(names, self._random.randint(0, len(names)))), ""

    def _create_topic(self) -> None:
        self._topic_numbers += 1
        topic_id = self._topic_numbers.to_bytes(16, "big")
        count = self._random.randint(1, self._partitions_max)
        self._world.catalogue.put(f"t-{self._topic_numbers}", topic_id, count)

    def _change_topics(self) -> None:
        names = sorted(self._world.catalogue.names())
        action = self._random.random()
        if action < 0.4 or not names:
            self._create_topic()
            return
        topic = self._world.catalogue.topic(self._random.choice(names))
        assert topic is not None
        if action < 0.8:
            self._world.catalogue.put(
                topic.name, topic.topic_id, topic.partition_count + self._random.randint(1, 4)
            )
        else:
            self._world.catalogue.remove(topic.name)

"""A coordinator shard over a log in memory, and the few verbs that its tests are written with."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from headrace.coordination.groups.administration import Administration
from headrace.coordination.groups.classic import ClassicGroups
from headrace.coordination.groups.classic_group import ClassicGroup
from headrace.coordination.groups.commands import (
    CommitOffsets,
    CommitTransactionalOffsets,
    FetchOffsets,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    LeavingMember,
    OffsetToCommit,
    Protocol,
    SyncGroup,
)
from headrace.coordination.groups.coordinator import GroupCoordinator
from headrace.coordination.groups.expiry import Expiry
from headrace.coordination.groups.offset_commands import OffsetCommands
from headrace.coordination.groups.registry import GroupRegistry, GroupSettings
from headrace.coordination.groups.transactional_records import TransactionEnded
from headrace.coordination.shard import Shard
from headrace.model.errors import HeadraceError, MemberIdRequired, StorageFailure
from headrace.model.topic import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.coordination.shard import CoordinatorRecord

START_MS = 1_000_000
GROUP = "orders"
RANGE = (Protocol("range", b"\x00\x00\x00\x00\x00\x01\x00\x01t"),)
"""A subscription to the topic ``t``."""


class MemoryPort:
    """A ShardPort over a list. ``is_lazy``: records are durable only when ``sync`` is called."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        """Records, and in groups the markers of transactions."""
        self.replies: dict[object, Any] = {}
        self.is_lazy = False
        self.is_broken = False
        self._commit_number = 0
        self._waiting: list[tuple[int, Callable[[BaseException | None], None]]] = []

    def append(self, records: Sequence[CoordinatorRecord], now_ms: int) -> int:
        if self.is_broken:
            raise StorageFailure("the disk is gone")
        self.log.extend(records)
        self._commit_number += 1
        return self._commit_number if self.is_lazy else 0

    def when_durable(
        self, commit_number: int, callback: Callable[[BaseException | None], None]
    ) -> None:
        self._waiting.append((commit_number, callback))

    def deliver(self, token: object, reply: Any) -> None:
        assert token not in self.replies, f"{token} is answered twice"
        self.replies[token] = reply

    def sync(self, error: BaseException | None = None) -> None:
        waiting, self._waiting = self._waiting, []
        for _, callback in waiting:
            callback(error)


class GroupBench:
    """Time stands still until ``pass_ms``; a request that has to wait has no reply yet."""

    def __init__(
        self,
        settings: GroupSettings | None = None,
        log: Sequence[Any] = (),
        *,
        now_ms: int = START_MS,
        id_from: int = 1,
    ) -> None:
        self._ids = count(id_from)
        self.now_ms = now_ms
        self.port = MemoryPort()
        self.registry = GroupRegistry(settings or GroupSettings(), self._new_id)
        self.classic = ClassicGroups(self.registry)
        self.machine = GroupCoordinator(
            self.registry,
            [
                self.classic,
                OffsetCommands(self.registry),
                Administration(self.registry),
                Expiry(self.registry),
            ],
        )
        self.shard = Shard(self.machine, self.port)
        self.port.log = list(log)
        self.shard.replay(self.port.log)
        self.machine.finish_loading(self.now_ms)
        self._tokens = count(1)

    def restarted(self) -> GroupBench:
        """Another coordinator that read the log of this one."""
        return GroupBench(
            self.registry.settings, self.port.log, now_ms=self.now_ms, id_from=next(self._ids)
        )

    def _new_id(self) -> str:
        return f"id{next(self._ids)}"

    # --- verbs ----------------------------------------------------------------------------------

    def send(self, command: object) -> int:
        token = next(self._tokens)
        self.shard.submit(command, token, self.now_ms)
        return token

    def ask(self, command: object) -> Any:
        """Send, and return the reply, which must be there."""
        return self.reply(self.send(command))

    def reply(self, token: int) -> Any:
        assert token in self.port.replies, "the request is still waiting"
        return self.port.replies[token]

    def is_waiting(self, token: int) -> bool:
        return token not in self.port.replies

    def pass_ms(self, delay_ms: int) -> None:
        """Let time pass from deadline to deadline."""
        end_ms = self.now_ms + delay_ms
        while (due_ms := self.shard.next_deadline_ms()) is not None and due_ms <= end_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self.shard.tick(self.now_ms)
        self.now_ms = end_ms

    def group(self, group_id: str = GROUP) -> ClassicGroup:
        group = self.registry.groups[group_id]
        assert isinstance(group, ClassicGroup)
        return group

    # --- members --------------------------------------------------------------------------------

    def join(self, member_id: str = "", **changes: Any) -> int:
        return self.send(join_command(member_id, **changes))

    def enter(self, **changes: Any) -> tuple[str, int]:
        """Both steps of a new dynamic member: get an id, join with it."""
        required = self.ask(join_command("", **changes))
        assert isinstance(required, MemberIdRequired)
        return required.member_id, self.join(required.member_id, **changes)

    def sync(
        self, member_id: str, generation: int, assignments: dict[str, bytes] | None = None
    ) -> int:
        return self.send(
            SyncGroup(GROUP, generation, member_id, None, None, None, assignments or {})
        )

    def heartbeat(self, member_id: str, generation: int, instance_id: str | None = None) -> Any:
        return self.ask(Heartbeat(GROUP, generation, member_id, instance_id))

    def leave(self, *members: str) -> Any:
        return self.ask(LeaveGroup(GROUP, tuple(LeavingMember(each, None) for each in members)))

    def stable(self, size: int, **changes: Any) -> list[str]:
        """A stable group of so many dynamic members; the first leads."""
        entered = [self.enter(**changes) for _ in range(size)]
        self.pass_ms(self.registry.settings.initial_rebalance_delay_ms * 2)
        ids = [member_id for member_id, _ in entered]
        generation = self.group().generation
        assignments = {member_id: f"of-{member_id}".encode() for member_id in ids}
        for member_id in ids[1:]:
            self.sync(member_id, generation)
        self.sync(ids[0], generation, assignments)
        return ids

    # --- offsets --------------------------------------------------------------------------------

    def commit(
        self,
        offset: int,
        member_id: str = "",
        generation: int = -1,
        *,
        topic: str = "t",
        partition: int = 0,
        **changes: Any,
    ) -> Any:
        entry = OffsetToCommit(TopicPartition(topic, partition), offset, -1, "")
        command = CommitOffsets(GROUP, member_id, None, generation, [entry])
        return self.ask(command._replace(**changes))

    def commit_pending(
        self,
        offset: int,
        producer_id: int = 7,
        *,
        topic: str = "t",
        partition: int = 0,
        **changes: Any,
    ) -> Any:
        """Within the transaction of this producer; ``end`` ends it."""
        entry = OffsetToCommit(TopicPartition(topic, partition), offset, -1, "")
        command = CommitTransactionalOffsets(GROUP, "", None, -1, [entry], producer_id, 0)
        return self.ask(command._replace(**changes))

    def end(self, producer_id: int = 7, *, is_commit: bool = True) -> None:
        """As if the marker had just been appended."""
        marker = TransactionEnded(producer_id, is_commit)
        self.port.log.append(marker)
        self.machine.replay(marker)

    def committed(self, topic: str = "t", partition: int = 0, group_id: str = GROUP) -> int:
        partitions = [TopicPartition(topic, partition)]
        reply = self.ask(FetchOffsets(group_id, partitions))
        assert not isinstance(reply, HeadraceError)
        offset: int = reply[0].offset
        return offset


def join_command(member_id: str = "", **changes: Any) -> JoinGroup:
    command = JoinGroup(
        group_id=GROUP,
        member_id=member_id,
        instance_id=None,
        client_id="client",
        client_host="/127.0.0.1",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=RANGE,
    )
    return command._replace(**changes)

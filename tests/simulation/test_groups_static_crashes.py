"""A static member that is alone under its instance id, and a coordinator that crashes after every
single request.

The life of one instance is a script: it starts, restarts, changes its subscription, loses its
session, and others come and go. The coordinator crashes after each prefix of it, with and without
the answer of the last request having arrived. Then the client carries on with what it was told last
and must find its way back into the group: FencedInstance would end it for good, though nobody else
has its instance id.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from headrace.coordination.groups.classic_states import ClassicState
from headrace.coordination.groups.commands import Joined, Protocol, SyncGroup
from headrace.coordination.groups.registry import GroupSettings
from headrace.model.errors import FencedInstance, HeadraceError, UnknownMember
from headrace.testing.group_bench import GROUP, RANGE, GroupBench, join_command

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

INSTANCE = "shelf"
WIDER = (Protocol("range", b"\x00\x00\x00\x00\x00\x02\x00\x01t\x00\x01u"),)
SESSION_MS = 10_000
OTHERS_GIVEN_UP_MS = 60_000
STEPS_BACK_MAX = 8
SETTINGS = GroupSettings(initial_rebalance_delay_ms=0)


class Shelf:
    """The client: one process at a time, which believes the last answer that arrived."""

    def __init__(self) -> None:
        self.bench = GroupBench(SETTINGS)
        self.member_id = ""
        self.generation = -1
        self.leader_id = ""
        self.protocols = RANGE
        self._waiting: int | None = None
        self.is_deaf = False
        """The coordinator dies before its next answer arrives."""

    # --- what it does ---------------------------------------------------------------------------

    def start(self) -> None:
        """A new process knows nothing but its configuration."""
        self.member_id, self.generation = "", -1

    def subscribe_wider(self) -> None:
        self.protocols = WIDER

    def forget_its_id(self) -> None:
        """A client that had no answer for a session does, and keeps its generation."""
        self.member_id = ""

    def lose_its_session(self) -> None:
        self.bench.pass_ms(SESSION_MS)

    def join(self) -> Any:
        self._waiting = self.bench.join(
            self.member_id,
            instance_id=INSTANCE,
            session_timeout_ms=SESSION_MS,
            protocols=self.protocols,
        )
        self.bench.pass_ms(1)
        return self.hear()

    def hear(self) -> Any:
        """The answer to the join, if it has come."""
        if self._waiting is None or self.bench.is_waiting(self._waiting) or self.is_deaf:
            return None
        reply = self.bench.reply(self._waiting)
        if isinstance(reply, Joined):
            self.member_id, self.generation = reply.member_id, reply.generation
            self.leader_id = reply.leader_id
        return reply

    def sync(self) -> Any:
        self.hear()
        leads = self.leader_id == self.member_id
        assignments = {self.member_id: b"all"} if leads else {}
        command = SyncGroup(
            GROUP, self.generation, self.member_id, INSTANCE, None, None, assignments
        )
        token = self.bench.send(command)
        return None if self.bench.is_waiting(token) else self.bench.reply(token)

    def commit(self) -> Any:
        return self.bench.commit(1, self.member_id, self.generation, instance_id=INSTANCE)

    def heartbeat(self) -> Any:
        return self.bench.heartbeat(self.member_id, self.generation, INSTANCE)

    # --- what others do -------------------------------------------------------------------------

    def other_joins(self) -> None:
        required = self.bench.ask(join_command())
        self.bench.join(required.member_id)

    def await_others(self) -> Any:
        """They died with the coordinator, and are given up after a while."""
        self.bench.pass_ms(OTHERS_GIVEN_UP_MS)
        return self.hear()

    # --- the crash ------------------------------------------------------------------------------

    def crash(self) -> None:
        self.bench = self.bench.restarted()
        self._waiting = None
        self.is_deaf = False


LIVES: dict[str, Sequence[Callable[[Shelf], Any]]] = {
    "restarts in a stable group": [
        *(Shelf.start, Shelf.join, Shelf.sync, Shelf.heartbeat),
        *(Shelf.start, Shelf.join, Shelf.sync, Shelf.heartbeat, Shelf.commit),
    ],
    "restarts while it rebalances": [
        *(Shelf.start, Shelf.join, Shelf.sync, Shelf.heartbeat),
        *(Shelf.subscribe_wider, Shelf.join, Shelf.start, Shelf.join, Shelf.sync),
    ],
    "restarts with another subscription while another joins": [
        *(Shelf.start, Shelf.join, Shelf.sync, Shelf.other_joins),
        *(Shelf.subscribe_wider, Shelf.start, Shelf.join, Shelf.sync),
    ],
    "expires and comes back while another is there": [
        *(Shelf.start, Shelf.join, Shelf.sync, Shelf.other_joins, Shelf.lose_its_session),
        *(Shelf.start, Shelf.join, Shelf.sync),
    ],
    "forgets its id and commits": [
        *(Shelf.start, Shelf.join, Shelf.sync, Shelf.heartbeat),
        *(Shelf.forget_its_id, Shelf.commit, Shelf.join, Shelf.sync, Shelf.commit),
    ],
}


def find_way_back(shelf: Shelf, first: Callable[[Shelf], Any]) -> None:
    """As clients do: forget the id if nobody knows it, and join, until a heartbeat is accepted."""
    reply = first(shelf)
    for _ in range(STEPS_BACK_MAX):
        assert not isinstance(reply, FencedInstance), "a lone static member is fenced"
        if isinstance(reply, UnknownMember):
            shelf.forget_its_id()
        if isinstance(reply, HeadraceError):
            reply = shelf.join() or shelf.await_others()
        elif isinstance(reply, Joined):
            reply = shelf.sync()
        else:
            reply = shelf.heartbeat()
            if reply is None:
                break
    assert reply is None, "it does not come back"
    assert shelf.bench.group().state is ClassicState.STABLE
    assert shelf.bench.group().static_ids == {INSTANCE: shelf.member_id}


@pytest.mark.parametrize("life", LIVES)
@pytest.mark.parametrize("is_deaf", [False, True], ids=["answered", "answer lost"])
@pytest.mark.parametrize("first", [Shelf.heartbeat, Shelf.commit, Shelf.sync, Shelf.join])
def test_lone_static_member_survives_a_crash_after_any_request(
    life: str, is_deaf: bool, first: Callable[[Shelf], Any]
) -> None:
    steps = LIVES[life]
    for length in range(1, len(steps) + 1):
        shelf = Shelf()
        for number, step in enumerate(steps[:length], 1):
            shelf.is_deaf = is_deaf and number == length
            assert not isinstance(step(shelf), FencedInstance)
        shelf.crash()
        find_way_back(shelf, first)


def test_crash_may_come_twice() -> None:
    """What the first crash made of the group is what the second one finds."""
    for life, later in pairwise(LIVES):
        shelf = Shelf()
        for step in (*LIVES[life], *LIVES[later]):
            assert not isinstance(step(shelf), FencedInstance)
            shelf.crash()
        find_way_back(shelf, Shelf.heartbeat)

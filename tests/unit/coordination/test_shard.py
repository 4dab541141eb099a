"""A shard appends first, replays after, and answers when what it knew is durable."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.coordination.shard import (
    TICKS_MAX,
    CoordinatorRecord,
    Decision,
    Shard,
    Token,
    answer,
)
from headrace.model.errors import (
    CoordinatorNotAvailable,
    GroupNotFound,
    InvalidProducerEpoch,
    StorageFailure,
)
from headrace.testing.group_bench import MemoryPort

NOW_MS = 5


class Ledger:
    """Writes what it is told; ``read`` answers with what was replayed."""

    def __init__(self) -> None:
        self.replayed: list[bytes] = []
        self.due = 0

    def decide(self, command: Any, token: Token, now_ms: int) -> Decision:
        if command == "read":
            return answer(token, list(self.replayed))
        if command == "refuse":
            raise GroupNotFound("no")
        return Decision([CoordinatorRecord(command, b"")], [(token, "written")])

    def replay(self, record: CoordinatorRecord) -> None:
        self.replayed.append(record.key)

    def next_deadline_ms(self) -> int | None:
        return NOW_MS if self.due else None

    def expire_next(self, now_ms: int) -> Decision | None:
        if not self.due:
            return None
        self.due -= 1
        return Decision([CoordinatorRecord(b"due", None)], [])


def built() -> tuple[Shard, Ledger, MemoryPort]:
    ledger, port = Ledger(), MemoryPort()
    return Shard(ledger, port), ledger, port


def test_command_is_written_replayed_and_answered() -> None:
    shard, ledger, port = built()
    shard.submit(b"a", 1, NOW_MS)
    assert port.log == [CoordinatorRecord(b"a", b"")]
    assert ledger.replayed == [b"a"]
    assert port.replies == {1: "written"}


def test_reply_waits_until_its_records_are_durable() -> None:
    shard, ledger, port = built()
    port.is_lazy = True
    shard.submit(b"a", 1, NOW_MS)
    assert ledger.replayed == [b"a"]
    assert port.replies == {}
    port.sync()
    assert port.replies == {1: "written"}


def test_reader_does_not_see_what_is_not_durable() -> None:
    shard, _, port = built()
    port.is_lazy = True
    shard.submit(b"a", 1, NOW_MS)
    shard.submit("read", 2, NOW_MS)
    assert port.replies == {}
    port.sync()
    assert port.replies == {1: "written", 2: [b"a"]}
    shard.submit("read", 3, NOW_MS)
    assert port.replies[3] == [b"a"]


def test_failed_append_changes_nothing_and_tells_all_callers() -> None:
    shard, ledger, port = built()
    port.is_broken = True
    shard.submit(b"a", 1, NOW_MS)
    assert ledger.replayed == []
    assert isinstance(port.replies[1], CoordinatorNotAvailable)
    port.is_broken = False
    shard.submit(b"b", 2, NOW_MS)
    assert ledger.replayed == [b"b"]


def test_failed_sync_is_told_to_all_that_waited() -> None:
    shard, _, port = built()
    port.is_lazy = True
    shard.submit(b"a", 1, NOW_MS)
    port.sync(StorageFailure("the medium is gone"))
    assert isinstance(port.replies[1], CoordinatorNotAvailable)


def test_refusal_is_the_reply() -> None:
    shard, _, port = built()
    shard.submit("refuse", 1, NOW_MS)
    assert isinstance(port.replies[1], GroupNotFound)
    assert port.log == []


def test_tick_works_off_what_is_due_within_its_limit() -> None:
    shard, ledger, port = built()
    ledger.due = TICKS_MAX + 1
    assert shard.next_deadline_ms() == NOW_MS
    shard.tick(NOW_MS)
    assert len(port.log) == TICKS_MAX
    shard.tick(NOW_MS)
    assert len(port.log) == TICKS_MAX + 1
    assert shard.next_deadline_ms() is None


def test_reply_waits_for_what_others_have_written() -> None:
    shard, _, port = built()
    shard.learned(5)
    shard.submit("read", 1, NOW_MS)
    assert port.replies == {}
    port.sync()
    assert port.replies == {1: []}
    shard.submit("read", 2, NOW_MS)
    assert port.replies[2] == []


def test_replaced_producer_is_told_what_the_log_says(monkeypatch: pytest.MonkeyPatch) -> None:
    shard, ledger, port = built()
    refusal = InvalidProducerEpoch("there is a newer one")

    def refuse(records: object, now_ms: int) -> int:
        raise refusal

    monkeypatch.setattr(port, "append", refuse)
    shard.submit(b"a", 1, NOW_MS)
    assert port.replies[1] is refusal
    assert ledger.replayed == []


def test_decision_that_is_needed_now_does_not_wait_for_the_medium() -> None:
    shard, ledger, port = built()
    port.is_lazy = True
    assert shard.decide_now(b"a", NOW_MS) == "written"
    assert ledger.replayed == [b"a"]
    shard.submit("read", 1, NOW_MS)
    assert port.replies == {}, "others wait for it"
    port.sync()
    assert port.replies == {1: [b"a"]}


def test_decision_that_is_needed_now_raises_what_refuses_it() -> None:
    shard, ledger, port = built()
    with pytest.raises(GroupNotFound):
        shard.decide_now("refuse", NOW_MS)
    port.is_broken = True
    with pytest.raises(CoordinatorNotAvailable):
        shard.decide_now(b"a", NOW_MS)
    assert ledger.replayed == []

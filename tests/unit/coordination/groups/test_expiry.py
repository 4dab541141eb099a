"""Offsets expire when nobody uses them (KIP-211)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.coordination.groups import expiry
from headrace.coordination.groups.registry import GroupSettings
from headrace.testing.group_bench import GROUP, GroupBench

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.coordination.shard import CoordinatorRecord

RETENTION_MS = 3_600_000
CHECK_MS = 60_000
SETTINGS = GroupSettings(
    offsets_retention_ms=RETENTION_MS, offsets_retention_check_interval_ms=CHECK_MS
)


@pytest.fixture
def bench() -> GroupBench:
    return GroupBench(SETTINGS)


def stay(bench: GroupBench, member_id: str, duration_ms: int) -> None:
    for _ in range(duration_ms // 5_000):
        assert bench.heartbeat(member_id, 1) is None
        bench.pass_ms(5_000)


def test_offset_of_a_simple_consumer_expires_after_its_commit(bench: GroupBench) -> None:
    bench.commit(1)
    bench.pass_ms(RETENTION_MS - CHECK_MS)
    assert bench.committed() == 1
    bench.commit(2, partition=1)
    bench.pass_ms(2 * CHECK_MS)
    assert (bench.committed(), bench.committed(partition=1)) == (-1, 2)


def test_group_goes_with_its_last_offset(bench: GroupBench) -> None:
    bench.commit(1)
    bench.pass_ms(RETENTION_MS + CHECK_MS)
    assert GROUP not in bench.registry.groups
    assert [record.value for record in bench.port.log[-2:]] == [None, None]
    assert GROUP not in bench.restarted().registry.groups


def test_offsets_of_a_living_group_stay(bench: GroupBench) -> None:
    member = bench.stable(1)[0]
    bench.commit(1, member, 1)
    bench.commit(2, member, 1, topic="dropped")
    stay(bench, member, RETENTION_MS + 2 * CHECK_MS)
    assert bench.committed() == 1
    assert bench.committed("dropped") == -1


def test_retention_counts_from_when_the_group_became_empty(bench: GroupBench) -> None:
    member = bench.stable(1)[0]
    bench.commit(1, member, 1)
    stay(bench, member, RETENTION_MS // 2)
    bench.leave(member)
    bench.pass_ms(RETENTION_MS - CHECK_MS)
    assert bench.committed() == 1
    assert bench.restarted().committed() == 1
    bench.pass_ms(2 * CHECK_MS)
    assert bench.committed() == -1


def test_offsets_stay_while_a_rebalance_runs(bench: GroupBench) -> None:
    leader, other = bench.stable(2, rebalance_timeout_ms=2 * RETENTION_MS)
    bench.commit(1, leader, 1, topic="dropped")
    bench.join(leader, rebalance_timeout_ms=2 * RETENTION_MS)
    for _ in range((RETENTION_MS + CHECK_MS) // 5_000):
        bench.heartbeat(other, 1)
        bench.pass_ms(5_000)
    assert bench.committed("dropped") == 1


def test_retention_of_the_clients_own_is_obeyed(bench: GroupBench) -> None:
    bench.commit(1, retention_ms=10_000)
    bench.commit(2, partition=1, retention_ms=10 * RETENTION_MS)
    bench.pass_ms(CHECK_MS)
    assert bench.committed() == -1
    bench.pass_ms(2 * RETENTION_MS)
    assert bench.committed(partition=1) == 2


def test_group_that_nobody_ever_joined_goes(bench: GroupBench) -> None:
    bench.join()
    assert GROUP in bench.registry.groups
    bench.pass_ms(2 * CHECK_MS)
    assert GROUP not in bench.registry.groups


def test_many_expired_offsets_go_in_bounded_steps(
    bench: GroupBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiry, "RECORDS_PER_DECISION_MAX", 4)
    for number in range(20):
        bench.commit(number, group_id=f"group-{number}")
    longest = 0
    append = bench.port.append

    def measure(records: Sequence[CoordinatorRecord], now_ms: int) -> int:
        nonlocal longest
        longest = max(longest, len(records))
        return append(records, now_ms)

    monkeypatch.setattr(bench.port, "append", measure)
    bench.pass_ms(RETENTION_MS + CHECK_MS)
    assert not bench.registry.groups
    assert 0 < longest <= 5

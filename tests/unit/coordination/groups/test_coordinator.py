"""The coordinator hands commands and records to their engines."""

from __future__ import annotations

import pytest

from headrace.coordination.groups.administration import Administration
from headrace.coordination.groups.commands import DeleteGroup, DescribeGroup
from headrace.coordination.groups.coordinator import GroupCoordinator
from headrace.coordination.groups.registry import GroupRegistry, GroupSettings
from headrace.coordination.shard import CoordinatorRecord
from headrace.model.errors import CoordinatorLoading, GroupNotFound, InternalError

SHARE_GROUP_KEY = (10).to_bytes(2, "big") + b"\x00\x01g"


@pytest.fixture
def coordinator() -> GroupCoordinator:
    registry = GroupRegistry(GroupSettings(), lambda: "id")
    return GroupCoordinator(registry, [Administration(registry)])


def test_commands_are_refused_until_the_log_is_read(coordinator: GroupCoordinator) -> None:
    with pytest.raises(CoordinatorLoading):
        coordinator.decide(DeleteGroup("g"), None, 1)
    coordinator.finish_loading(1)
    with pytest.raises(GroupNotFound):
        coordinator.decide(DeleteGroup("g"), None, 1)


def test_command_without_an_engine_is_a_fault_of_ours(coordinator: GroupCoordinator) -> None:
    coordinator.finish_loading(1)
    with pytest.raises(InternalError):
        coordinator.decide(DescribeGroup("g"), None, 1)


def test_records_of_unknown_kinds_are_counted(coordinator: GroupCoordinator) -> None:
    coordinator.replay(CoordinatorRecord(SHARE_GROUP_KEY, b"?"))
    coordinator.replay(CoordinatorRecord(b"", b"?"))
    coordinator.replay(CoordinatorRecord((4711).to_bytes(2, "big"), None))
    assert coordinator.unknown_records == 3
    assert not coordinator.registry.groups


def test_without_deadlines_nothing_is_due(coordinator: GroupCoordinator) -> None:
    assert coordinator.next_deadline_ms() is None
    assert coordinator.expire_next(1 << 60) is None

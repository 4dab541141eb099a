from __future__ import annotations

from headrace.coordination.groups.consumer_commands import DescribedConsumer, DescribedTopic
from headrace.coordination.groups.consumer_description import described_group
from headrace.coordination.groups.consumer_group import ConsumerGroup
from headrace.coordination.groups.consumer_member import Member, MemberState
from headrace.coordination.groups.consumer_records import (
    CurrentAssignment,
    GroupEpoch,
    TargetEpoch,
)
from headrace.coordination.groups.consumer_topics import TopicCatalogue

A, B, GONE = b"a" * 16, b"b" * 16, b"g" * 16


def test_description_tells_members_epochs_and_assignments() -> None:
    catalogue = TopicCatalogue()
    catalogue.put("z", A, 3)
    catalogue.put("b", B, 1)
    group = ConsumerGroup("g")
    group.replay_epoch(GroupEpoch(3))
    group.replay_target_epoch(TargetEpoch(3))
    group.replay_member(
        Member("m", "i", "r", "c", "h", frozenset({"z", "b"}), "p.*", 1_000, "range")
    )
    owned = {A: {2: 2, 0: 3}, GONE: {0: 1}}
    group.replay_current("m", CurrentAssignment(3, 2, MemberState.STABLE, owned, {}))
    group.replay_target("m", {A: frozenset({0}), B: frozenset({0})})
    described = described_group(group, catalogue, ("uniform", "range"))
    assert described[:5] == ("g", "Stable", 3, 3, "range")
    assert described.members == (
        DescribedConsumer(
            "m",
            "i",
            "r",
            3,
            "c",
            "h",
            ("b", "z"),
            "p.*",
            (DescribedTopic(A, "z", (0, 2)),),
            (DescribedTopic(B, "b", (0,)), DescribedTopic(A, "z", (0,))),
        ),
    )


def test_empty_group_names_the_default_assignor() -> None:
    described = described_group(ConsumerGroup("g"), TopicCatalogue(), ("uniform", "range"))
    assert described == ("g", "Empty", 0, 0, "uniform", ())

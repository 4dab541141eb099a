from __future__ import annotations

import pytest

from headrace.coordination.groups import consumer_records as stored
from headrace.coordination.groups.consumer_draft import ConsumerGroupDraft, preferred_assignor
from headrace.coordination.groups.consumer_group import ConsumerGroup
from headrace.coordination.groups.consumer_member import Member, MemberState
from headrace.coordination.groups.consumer_topics import TopicCatalogue

A = b"a" * 16


@pytest.fixture
def draft() -> ConsumerGroupDraft:
    catalogue = TopicCatalogue()
    catalogue.put("a", A, 2)
    group = ConsumerGroup("g")
    group.replay_epoch(stored.GroupEpoch(4))
    group.replay_member(Member("m", instance_id="i", topic_names=frozenset({"a"})))
    group.replay_target("m", {A: frozenset({0, 1})})
    owned = {A: {0: 4, 1: 4}}
    group.replay_current("m", stored.CurrentAssignment(4, 3, MemberState.STABLE, owned, {}))
    return ConsumerGroupDraft(group, catalogue)


def test_draft_leaves_the_group_untouched(draft: ConsumerGroupDraft) -> None:
    draft.put_subscription(Member("n", pattern="a"))
    draft.resolve_patterns(9, refresh=False)
    draft.bump_epoch(77)
    draft.assign("uniform", 9)
    draft.remove("m")
    group = draft.group
    assert (group.epoch, group.assignment_epoch, group.patterns) == (4, 0, {})
    assert group.members.keys() == {"m"}
    assert group.targets == {"m": {A: frozenset({0, 1})}}


def test_assign_writes_only_targets_that_differ(draft: ConsumerGroupDraft) -> None:
    draft.bump_epoch(1)
    draft.records.clear()
    draft.assign("uniform", 9)
    assert draft.records == [stored.target_epoch_record("g", stored.TargetEpoch(5, 9))]
    draft.put_subscription(Member("n", topic_names=frozenset({"a"})))
    draft.records.clear()
    draft.assign("uniform", 9)
    assert len(draft.records) == 3
    assert draft.target("m") == {A: frozenset({0})}
    assert draft.target("n") == {A: frozenset({1})}


def test_renamed_member_takes_over_target_and_partitions(draft: ConsumerGroupDraft) -> None:
    successor = draft.rename(draft.members["m"], "n")
    assert (successor.member_id, successor.epoch, successor.previous_epoch) == ("n", 0, 0)
    assert draft.holder(A, 0) == "n"
    assert draft.target("n") == {A: frozenset({0, 1})}
    assert draft.members.keys() == {"n"}


def test_pattern_is_written_when_its_topics_changed(draft: ConsumerGroupDraft) -> None:
    draft.put_subscription(Member("n", pattern="a.*"))
    assert draft.resolve_patterns(9, refresh=False)
    assert draft.patterns["a.*"].topic_names == {"a"}
    draft.records.clear()
    assert not draft.resolve_patterns(10, refresh=True)
    draft.remove("n")
    draft.records.clear()
    assert not draft.resolve_patterns(11, refresh=False), "it matters to nobody"
    assert draft.records == [stored.pattern_tombstone("g", "a.*")]


def test_most_votes_win_and_unknown_names_do_not_count() -> None:
    names = ("uniform", "range")
    votes = ["range", "range", "uniform", None, *["custom"] * 5]
    members = {str(n): Member(str(n), assignor=vote) for n, vote in enumerate(votes)}
    assert preferred_assignor(members, names) == "range"
    assert preferred_assignor({}, names) == "uniform"

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.coordination.groups.assignors import (
    ASSIGNORS,
    Assignment,
    AssignmentMember,
    assign_range,
    assign_uniform,
)

A, B, C = (bytes([number]) * 16 for number in (10, 11, 12))
BOTH = frozenset({A, B})

Members = dict[str, AssignmentMember]


def size(assignment: Assignment) -> int:
    return sum(len(partitions) for partitions in assignment.values())


def pairs(assignment: Assignment) -> set[tuple[bytes, int]]:
    return {(topic, partition) for topic in assignment for partition in assignment[topic]}


def after(members: Members, assigned: dict[str, Assignment]) -> Members:
    return {
        member_id: member._replace(target=assigned[member_id])
        for member_id, member in members.items()
    }


counts = st.fixed_dictionaries({A: st.integers(0, 12), B: st.integers(0, 12), C: st.integers(0, 5)})
member_ids = st.sets(st.sampled_from([f"m{number}" for number in range(9)]), min_size=1)


@st.composite
def alike(draw: st.DrawFn) -> Members:
    topics = frozenset(draw(st.sets(st.sampled_from([A, B, C]), min_size=1)))
    return {member_id: AssignmentMember(topics, {}) for member_id in sorted(draw(member_ids))}


@st.composite
def unlike(draw: st.DrawFn) -> Members:
    topics = st.sets(st.sampled_from([A, B, C])).map(frozenset)
    return {m: AssignmentMember(draw(topics), {}) for m in sorted(draw(member_ids))}


def assert_complete_and_disjoint(
    members: Members, partition_counts: dict[bytes, int], assigned: dict[str, Assignment]
) -> None:
    assert assigned.keys() == members.keys()
    owners = [pair for assignment in assigned.values() for pair in pairs(assignment)]
    wanted = frozenset[bytes]().union(*(member.topics for member in members.values()))
    assert sorted(owners) == sorted((t, p) for t in wanted for p in range(partition_counts[t]))
    for member_id, assignment in assigned.items():
        assert assignment.keys() <= members[member_id].topics
        assert all(assignment.values()), "topics without a partition are left out"


@given(st.sampled_from(sorted(ASSIGNORS)), st.one_of(alike(), unlike()), counts)
def test_assignors_give_each_wanted_partition_to_one_subscriber(
    name: str, members: Members, partition_counts: dict[bytes, int]
) -> None:
    assigned = ASSIGNORS[name](members, partition_counts)
    assert_complete_and_disjoint(members, partition_counts, assigned)


@given(alike(), counts)
def test_uniform_balances_equal_subscriptions_within_one(
    members: Members, partition_counts: dict[bytes, int]
) -> None:
    sizes = [size(assignment) for assignment in assign_uniform(members, partition_counts).values()]
    assert max(sizes) - min(sizes) <= 1


@given(alike(), counts, st.data())
def test_uniform_moves_no_more_than_balance_demands(
    members: Members, partition_counts: dict[bytes, int], data: st.DataObject
) -> None:
    before = assign_uniform(members, partition_counts)
    leaving = data.draw(st.sets(st.sampled_from(sorted(members)), max_size=len(members) - 1))
    joining = data.draw(st.sets(st.sampled_from(["n1", "n2", "n3"])))
    topics = next(iter(members.values())).topics
    changed = after(members, before)
    for member_id in leaving:
        del changed[member_id]
    changed.update({member_id: AssignmentMember(topics, {}) for member_id in joining})
    assigned = assign_uniform(changed, partition_counts)
    assert_complete_and_disjoint(changed, partition_counts, assigned)
    # The best possible: with quota q and e larger shares, the e fullest keep q + 1, the others q.
    quota, extra = divmod(sum(partition_counts[topic] for topic in topics), len(changed))
    held = sorted((size(dict(member.target)) for member in changed.values()), reverse=True)
    keepable = sum(min(count, quota + (rank < extra)) for rank, count in enumerate(held))
    kept = sum(len(pairs(assigned[m]) & pairs(dict(changed[m].target))) for m in changed)
    assert kept == keepable


@given(unlike(), counts)
def test_uniform_leaves_no_single_move_that_would_even_out_unequal_subscriptions(
    members: Members, partition_counts: dict[bytes, int]
) -> None:
    assigned = assign_uniform(members, partition_counts)
    for giver, assignment in assigned.items():
        for taker, member in members.items():
            if assignment.keys() & member.topics:
                assert size(assigned[giver]) - size(assigned[taker]) <= 1


@given(st.one_of(alike(), unlike()), counts)
def test_uniform_moves_nothing_when_nothing_changed(
    members: Members, partition_counts: dict[bytes, int]
) -> None:
    assigned = assign_uniform(members, partition_counts)
    assert assign_uniform(after(members, assigned), partition_counts) == assigned


@given(unlike(), counts, counts)
def test_uniform_copes_with_topics_that_grew_shrank_or_went(
    members: Members, before: dict[bytes, int], now: dict[bytes, int]
) -> None:
    changed = after(members, assign_uniform(members, before))
    assert_complete_and_disjoint(changed, now, assign_uniform(changed, now))


def test_uniform_gives_a_partition_that_two_targets_claim_to_one() -> None:
    claim = {A: frozenset({0})}
    members = {m: AssignmentMember(frozenset({A}), claim) for m in ("m1", "m2")}
    assert assign_uniform(members, {A: 1}) == {"m1": {A: frozenset({0})}, "m2": {}}


def test_uniform_assigns_nothing_without_members() -> None:
    assert assign_uniform({}, {}) == {}
    assert assign_range({}, {}) == {}


# What Kafka 4.3's own assignors answer for the same groups.

PARTITION_COUNTS = {A: 5, B: 4}
STATIC_AND_DYNAMIC = {
    "m1": AssignmentMember(BOTH, {}),
    "m2": AssignmentMember(BOTH, {}, "z"),
    "m3": AssignmentMember(BOTH, {}, "a"),
}


def test_uniform_agrees_with_kafka() -> None:
    assert assign_uniform(STATIC_AND_DYNAMIC, PARTITION_COUNTS) == {
        "m1": {A: frozenset({0, 1, 2})},
        "m2": {A: frozenset({3, 4}), B: frozenset({0})},
        "m3": {B: frozenset({1, 2, 3})},
    }


def test_range_agrees_with_kafka_and_puts_static_members_first() -> None:
    assert assign_range(STATIC_AND_DYNAMIC, PARTITION_COUNTS) == {
        "m1": {A: frozenset({4}), B: frozenset({3})},
        "m2": {A: frozenset({2, 3}), B: frozenset({2})},
        "m3": {A: frozenset({0, 1}), B: frozenset({0, 1})},
    }


def test_range_agrees_with_kafka_on_unequal_subscriptions() -> None:
    members = {
        "m1": AssignmentMember(BOTH, {}),
        "m2": AssignmentMember(frozenset({B}), {}),
        "m3": AssignmentMember(frozenset({A}), {}, "a"),
    }
    assert assign_range(members, PARTITION_COUNTS) == {
        "m1": {A: frozenset({3, 4}), B: frozenset({0, 1})},
        "m2": {B: frozenset({2, 3})},
        "m3": {A: frozenset({0, 1, 2})},
    }


@given(member_ids, st.integers(0, 20))
def test_range_gives_equal_numbers_of_co_partitioned_topics(ids: set[str], count: int) -> None:
    members = {member_id: AssignmentMember(BOTH, {}) for member_id in ids}
    for assignment in assign_range(members, {A: count, B: count}).values():
        assert assignment.get(A) == assignment.get(B)

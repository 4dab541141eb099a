"""Consumer groups: rebalances in the middle of reading, static members, both group protocols."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..deadline import wait_until
from ..values import ConsumerSettings, Received, TopicPartition
from .declare import ScenarioRun, expect_failure, numbered, poll_all, read, scenario, values

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..driver import Consumer

FENCED_INSTANCE_ID = 82
PARTITIONS = 4
REBALANCE_TIMEOUT_S = 40.0


def _shared_out(consumers: list[Consumer], topic: str) -> Callable[[list[Received]], bool]:
    """Every partition has exactly one owner and every member has some."""
    everything = {(topic, number) for number in range(PARTITIONS)}

    def condition(_: list[Received]) -> bool:
        parts = [consumer.assignment() for consumer in consumers]
        disjoint = sum(len(part) for part in parts) == PARTITIONS
        return disjoint and all(parts) and set[TopicPartition]().union(*parts) == everything

    return condition


def _got(count: int) -> Callable[[list[Received]], bool]:
    return lambda found: len({item.record.value for item in found}) >= count


def _produce_and_read(run: ScenarioRun, topic: str, members: list[Consumer], word: str) -> None:
    """A round of records that the members must see, whoever owns what just then."""
    sent = numbered(12, PARTITIONS, word)
    run.client.produce(topic, sent)
    wanted = {item.value for item in sent}

    def complete(found: list[Received]) -> bool:
        return wanted <= set(values(found))

    poll_all(members, complete, f"round {word} read")


@scenario()
def smoke_group_commits_and_resumes(run: ScenarioRun) -> None:
    topic = run.new_topic("resume", partitions=2)
    settings = ConsumerSettings(run.name("resumers"), (topic,))
    run.client.produce(topic, numbered(10, 2, "early"))
    first = run.open(settings)
    assert len(read(first, 10)) == 10
    first.commit()
    run.close(first)
    run.client.produce(topic, numbered(6, 2, "late"))
    second = run.open(settings)
    assert sorted(map(str, values(read(second, 6)))) == sorted(
        str(item.value) for item in numbered(6, 2, "late")
    )


@scenario("explicit-commit")
def group_resumes_at_a_chosen_offset(run: ScenarioRun) -> None:
    topic = run.new_topic("chosen")
    settings = ConsumerSettings(run.name("choosers"), (topic,))
    run.client.produce(topic, numbered(10))
    first = run.open(settings)
    read(first, 10)
    first.commit({(topic, 0): 4})
    assert first.committed(topic, 0) == 4
    run.close(first)
    second = run.open(settings)
    assert [item.offset for item in read(second, 6)] == [4, 5, 6, 7, 8, 9]


@scenario("join-leave", "crash")
def group_survives_join_leave_and_crash(run: ScenarioRun) -> None:
    topic = run.new_topic("members", partitions=PARTITIONS)
    settings = ConsumerSettings(run.name("group"), (topic,))
    first = run.open(settings)
    poll_all([first], _shared_out([first], topic), "one member owns all")
    _produce_and_read(run, topic, [first], "alone")

    second = run.open(settings)
    both = [first, second]
    poll_all(both, _shared_out(both, topic), "two members share", REBALANCE_TIMEOUT_S)
    _produce_and_read(run, topic, both, "joined")
    run.close(second)
    poll_all([first], _shared_out([first], topic), "the rest owns all", REBALANCE_TIMEOUT_S)
    _produce_and_read(run, topic, [first], "left")

    other_process = run.start_client()
    third = run.open(settings, other_process)
    both = [first, third]
    poll_all(both, _shared_out(both, topic), "a second process joined", REBALANCE_TIMEOUT_S)
    _produce_and_read(run, topic, both, "before crash")
    other_process.crash()
    poll_all([first], _shared_out([first], topic), "the crashed one is out", REBALANCE_TIMEOUT_S)
    _produce_and_read(run, topic, [first], "after crash")


@scenario("static")
def static_member_restarts_without_a_rebalance(run: ScenarioRun) -> None:
    topic = run.new_topic("static", partitions=PARTITIONS)
    group = run.name("static-group")
    one = ConsumerSettings(group, (topic,), instance_id="one", session_timeout_ms=20_000)
    two = ConsumerSettings(group, (topic,), instance_id="two", session_timeout_ms=20_000)
    first, second = run.open(one), run.open(two)
    both = [first, second]
    poll_all(both, _shared_out(both, topic), "static members share", REBALANCE_TIMEOUT_S)
    owned_before = second.assignment()
    seen_before = first.assignments_seen()
    run.close(second)

    second = run.open(two)
    both = [first, second]
    poll_all(both, _shared_out(both, topic), "the static member is back", REBALANCE_TIMEOUT_S)
    assert second.assignment() == owned_before
    assert first.assignments_seen() == seen_before, "the other member saw a rebalance"


@scenario("static", "fencing-error")
def static_member_is_fenced_by_its_double(run: ScenarioRun) -> None:
    topic = run.new_topic("fenced")
    settings = ConsumerSettings(run.name("fenced-group"), (topic,), instance_id="only-one")
    first = run.open(settings)
    poll_all([first], lambda _: bool(first.assignment()), "the first owns it")
    other_process = run.start_client()
    double = run.open(settings, other_process)

    def step() -> bool:
        double.poll()
        first.poll()
        return False

    expect_failure(
        FENCED_INSTANCE_ID, lambda: wait_until(step, "fenced", REBALANCE_TIMEOUT_S, interval_s=0)
    )


@scenario("cooperative")
def cooperative_rebalance_keeps_what_stays(run: ScenarioRun) -> None:
    topic = run.new_topic("cooperative", partitions=PARTITIONS)
    settings = ConsumerSettings(run.name("cooperators"), (topic,), assignor="cooperative")
    first = run.open(settings)
    poll_all([first], _shared_out([first], topic), "one member owns all")
    second = run.open(settings)
    both = [first, second]
    smallest = PARTITIONS

    def watch(found: list[Received]) -> bool:
        nonlocal smallest
        smallest = min(smallest, len(first.assignment()))
        return _shared_out(both, topic)(found)

    poll_all(both, watch, "two members share", REBALANCE_TIMEOUT_S)
    assert smallest == PARTITIONS // 2, "the first member had to give up more than it lost"
    _produce_and_read(run, topic, both, "joined")
    run.close(second)
    poll_all([first], _shared_out([first], topic), "the rest owns all", REBALANCE_TIMEOUT_S)
    _produce_and_read(run, topic, [first], "left")


@scenario("consumer-protocol")
def consumer_protocol_group_shares_and_resumes(run: ScenarioRun) -> None:
    """KIP-848: the broker assigns; members join and leave without stopping each other."""
    topic = run.new_topic("kip848", partitions=PARTITIONS)
    group = run.name("kip848-group")
    settings = ConsumerSettings(group, (topic,), protocol="consumer")
    first = run.open(settings)
    poll_all([first], _shared_out([first], topic), "one member owns all", REBALANCE_TIMEOUT_S)
    _produce_and_read(run, topic, [first], "alone")
    second = run.open(settings)
    both = [first, second]
    poll_all(both, _shared_out(both, topic), "two members share", REBALANCE_TIMEOUT_S)
    _produce_and_read(run, topic, both, "joined")
    assert run.client.describe_group(group).member_count == 2
    run.close(second)
    poll_all([first], _shared_out([first], topic), "the rest owns all", REBALANCE_TIMEOUT_S)
    _produce_and_read(run, topic, [first], "left")
    first.commit({(topic, number): 9 - number for number in range(PARTITIONS)})
    run.close(first)

    third = run.open(settings)
    # Each partition holds 9 records; the commits above leave 0, 1, 2 and 3 of them.
    resumed = poll_all([third], _got(6), "resumed", REBALANCE_TIMEOUT_S)
    assert len(resumed) == 6


@scenario("consumer-protocol", "static")
def consumer_protocol_static_member_comes_back(run: ScenarioRun) -> None:
    topic = run.new_topic("kip848-static", partitions=PARTITIONS)
    group = run.name("kip848-static-group")
    one = ConsumerSettings(group, (topic,), protocol="consumer", instance_id="one")
    two = ConsumerSettings(group, (topic,), protocol="consumer", instance_id="two")
    first, second = run.open(one), run.open(two)
    both = [first, second]
    poll_all(both, _shared_out(both, topic), "static members share", REBALANCE_TIMEOUT_S)
    owned_before = second.assignment()
    run.close(second)
    second = run.open(two)
    both = [first, second]
    poll_all(both, _shared_out(both, topic), "the static member is back", REBALANCE_TIMEOUT_S)
    assert second.assignment() == owned_before

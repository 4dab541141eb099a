"""Admin calls on topics, configs, records and groups."""

from __future__ import annotations

from ..deadline import wait_until
from ..values import ConsumerSettings
from .declare import ScenarioRun, expect_failure, numbered, poll_all, read, scenario

NON_EMPTY_GROUP = 68
GROUP_ID_NOT_FOUND = 69
VISIBLE_TIMEOUT_S = 10.0


@scenario("admin")
def admin_manages_topics(run: ScenarioRun) -> None:
    topic = run.new_topic("managed", partitions=2)
    assert topic in run.client.list_topics()
    assert run.client.partition_count(topic) == 2
    run.client.create_partitions(topic, 5)
    wait_until(lambda: run.client.partition_count(topic) == 5, "5 partitions", VISIBLE_TIMEOUT_S)
    run.client.delete_topic(topic)
    wait_until(lambda: topic not in run.client.list_topics(), "deleted", VISIBLE_TIMEOUT_S)


@scenario("admin")
def admin_manages_configs(run: ScenarioRun) -> None:
    topic = run.new_topic("configured", configs={"retention.ms": "3600000"})
    configs = run.client.describe_configs(topic)
    assert configs["retention.ms"] == "3600000"
    assert configs["cleanup.policy"] == "delete"
    assert configs["segment.bytes"] == "1073741824"
    run.client.alter_config(topic, "retention.ms", "7200000")
    wait_until(
        lambda: run.client.describe_configs(topic)["retention.ms"] == "7200000",
        "altered",
        VISIBLE_TIMEOUT_S,
    )


@scenario("admin")
def admin_deletes_records(run: ScenarioRun) -> None:
    topic = run.new_topic("shortened")
    run.client.produce(topic, numbered(10))
    assert run.client.list_offset(topic, 0, "earliest") == 0
    assert run.client.list_offset(topic, 0, "latest") == 10
    assert run.client.delete_records(topic, 0, 7) == 7
    assert run.client.list_offset(topic, 0, "earliest") == 7
    assert [item.offset for item in run.read_partition(topic, 3)] == [7, 8, 9]


@scenario("admin")
def admin_describes_groups(run: ScenarioRun) -> None:
    topic = run.new_topic("described")
    group = run.name("described-group")
    run.client.produce(topic, numbered(5))
    consumer = run.open(ConsumerSettings(group, (topic,)))
    read(consumer, 5)
    consumer.commit()
    assert group in run.client.list_groups()
    described = run.client.describe_group(group)
    assert (described.state, described.member_count) == ("Stable", 1)
    assert run.client.group_offsets(group) == {(topic, 0): 5}
    run.close(consumer)
    wait_until(
        lambda: run.client.describe_group(group).state == "Empty", "empty", VISIBLE_TIMEOUT_S
    )


@scenario("delete-group")
def admin_deletes_groups(run: ScenarioRun) -> None:
    topic = run.new_topic("deleted-with")
    group = run.name("deleted-group")
    run.client.produce(topic, numbered(1))
    consumer = run.open(ConsumerSettings(group, (topic,)))
    poll_all([consumer], lambda found: bool(found), "joined")
    consumer.commit()
    expect_failure(NON_EMPTY_GROUP, lambda: run.client.delete_group(group))
    run.close(consumer)
    wait_until(
        lambda: run.client.describe_group(group).state == "Empty", "empty", VISIBLE_TIMEOUT_S
    )
    run.client.delete_group(group)
    assert group not in run.client.list_groups()
    expect_failure(GROUP_ID_NOT_FOUND, lambda: run.client.delete_group(group))

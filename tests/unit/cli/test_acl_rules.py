"""What the options of ``headrace acl`` mean."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.cli.acl_rules import (
    Resource,
    Subjects,
    filters,
    named_resources,
    parse_operation,
    row,
    rules,
)
from headrace.cli.exit_codes import ExitCode, Failure
from headrace.security.acl import (
    CLUSTER_NAME,
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    Principal,
    ResourceType,
)

ALICE = Subjects(["User:alice"])
ORDERS = Resource(ResourceType.TOPIC, "orders")
BILLING = Resource(ResourceType.GROUP, "billing")
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED


def rights(made: list[AclBinding]) -> set[tuple[ResourceType, Operation]]:
    return {(each.resource_type, each.operation) for each in made}


@pytest.mark.parametrize("text", ["describe-configs", "DescribeConfigs", "DESCRIBE_CONFIGS"])
def test_operation_is_written_in_any_fashion(text: str) -> None:
    assert parse_operation(text) is Operation.DESCRIBE_CONFIGS


@pytest.mark.parametrize("text", ["any", "unknown", "reed", ""])
def test_operation_that_no_rule_can_have_is_refused(text: str) -> None:
    with pytest.raises(Failure, match="expected one of all, read, write") as refused:
        parse_operation(text)
    assert refused.value.code is ExitCode.USAGE


def test_resources_are_those_that_are_named() -> None:
    assert named_resources(["a"], ["g"], ["x"], cluster=True) == [
        Resource(ResourceType.TOPIC, "a"),
        Resource(ResourceType.GROUP, "g"),
        Resource(ResourceType.TRANSACTIONAL_ID, "x"),
        Resource(ResourceType.CLUSTER, CLUSTER_NAME),
    ]
    assert named_resources([], [], [], cluster=False) == []


def test_there_is_a_rule_for_each_combination() -> None:
    subjects = Subjects(["User:alice"], ["User:bob"], ["10.0.0.1", "10.0.0.2"])
    made = rules([ORDERS, BILLING], subjects, [Operation.READ, Operation.DESCRIBE], LITERAL)
    assert len(made) == 2 * 2 * 2 * 2
    assert {(str(each.principal), each.permission) for each in made} == {
        ("User:alice", Permission.ALLOW),
        ("User:bob", Permission.DENY),
    }


def test_rule_without_operation_and_host_is_for_all_of_them() -> None:
    (made,) = rules([ORDERS], ALICE, [], PREFIXED)
    assert made == AclBinding(
        ResourceType.TOPIC,
        "orders",
        PREFIXED,
        Principal.user("alice"),
        "*",
        Operation.ALL,
        Permission.ALLOW,
    )


def test_cluster_is_never_a_prefix() -> None:
    cluster = named_resources([], [], [], cluster=True)
    (made,) = rules(cluster, ALICE, [Operation.ALTER], PREFIXED)
    assert made.pattern_type is LITERAL


def test_producer_gets_what_producing_needs() -> None:
    transactional = Resource(ResourceType.TRANSACTIONAL_ID, "x")
    made = rules([ORDERS, transactional], ALICE, [], LITERAL, producer=True)
    assert rights(made) == {
        (ResourceType.TOPIC, Operation.WRITE),
        (ResourceType.TOPIC, Operation.DESCRIBE),
        (ResourceType.TOPIC, Operation.CREATE),
        (ResourceType.TRANSACTIONAL_ID, Operation.WRITE),
        (ResourceType.TRANSACTIONAL_ID, Operation.DESCRIBE),
    }


def test_producer_and_consumer_at_once_get_the_common_right_once() -> None:
    made = rules([ORDERS, BILLING], ALICE, [], LITERAL, producer=True, consumer=True)
    assert rights(made) == {
        (ResourceType.TOPIC, Operation.WRITE),
        (ResourceType.TOPIC, Operation.CREATE),
        (ResourceType.TOPIC, Operation.DESCRIBE),
        (ResourceType.TOPIC, Operation.READ),
        (ResourceType.GROUP, Operation.READ),
    }
    assert len(made) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([ORDERS], Subjects(), [], LITERAL), "--allow-principal"),
        (([], ALICE, [], LITERAL), "pass --topic"),
        (([ORDERS], Subjects(["alice"]), [], LITERAL), "for example User:alice"),
        (([Resource(ResourceType.TOPIC, "")], ALICE, [], LITERAL), "must not be empty"),
    ],
)
def test_options_that_make_no_sense_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(Failure, match=message) as refused:
        rules(*arguments)
    assert refused.value.code is ExitCode.USAGE


def test_convenience_names_its_operations_itself() -> None:
    with pytest.raises(Failure, match="themselves"):
        rules([ORDERS], ALICE, [Operation.READ], LITERAL, consumer=True)
    with pytest.raises(Failure, match="themselves"):
        rules([ORDERS], Subjects([], ["User:bob"]), [], LITERAL, producer=True)
    with pytest.raises(Failure, match="need a --topic"):
        rules([BILLING], ALICE, [], LITERAL, producer=True)


def test_filter_leaves_open_what_is_not_given() -> None:
    assert filters([], [], [], PatternType.ANY) == [AclBindingFilter()]
    made = filters([ORDERS], ["User:alice"], [Operation.READ], PatternType.MATCH)
    assert made == [
        AclBindingFilter(
            ResourceType.TOPIC,
            "orders",
            PatternType.MATCH,
            "User:alice",
            None,
            Operation.READ,
        )
    ]


def test_row_speaks_the_words_of_the_options() -> None:
    (made,) = rules([ORDERS], ALICE, [Operation.DESCRIBE_CONFIGS], PREFIXED)
    assert row(made) == {
        "resource": "topic",
        "name": "orders",
        "pattern": "prefixed",
        "principal": "User:alice",
        "host": "*",
        "operation": "describe-configs",
        "permission": "allow",
    }

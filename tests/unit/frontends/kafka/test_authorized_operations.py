"""Bit sets of operations, as Kafka answers them with and without an authorizer."""

from __future__ import annotations

from headrace.config.broker_access import STANDARD_AUTHORIZER
from headrace.frontends.kafka.authorized_operations import (
    cluster_operations,
    group_operations,
    topic_operations,
)
from headrace.security.acl import (
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    Permission,
    Principal,
    ResourceType,
)
from headrace.testing.metadata_bench import MetadataBench

ALICE = Principal.user("alice")


def test_nothing_is_told_unless_asked() -> None:
    context = MetadataBench().context(1)
    assert topic_operations(context, "t", is_asked=False) == -2147483648
    assert group_operations(context, "g", is_asked=False) == -2147483648
    assert cluster_operations(context, is_asked=False) == -2147483648


def test_all_operations_that_make_sense_are_allowed_without_an_authorizer() -> None:
    context = MetadataBench().context(1)
    assert topic_operations(context, "t", is_asked=True) == 0b1101_1111_1000
    assert group_operations(context, "g", is_asked=True) == 0b1101_0100_1000
    assert cluster_operations(context, is_asked=True) == 0b1_1111_1010_0000


def allow(resource_type: ResourceType, name: str, operation: Operation) -> AclBinding:
    pattern = PatternType.LITERAL
    return AclBinding(resource_type, name, pattern, ALICE, "*", operation, Permission.ALLOW)


def test_only_what_rules_allow_is_told() -> None:
    bench = MetadataBench({"authorizer.class.name": STANDARD_AUTHORIZER})
    context = bench.context(1, ALICE)
    assert topic_operations(context, "t", is_asked=True) == 0
    assert bench.access is not None
    bench.access.create([allow(ResourceType.TOPIC, "t", Operation.READ)])
    read_and_describe = 1 << Operation.READ | 1 << Operation.DESCRIBE
    assert topic_operations(context, "t", is_asked=True) == read_and_describe
    assert topic_operations(context, "other", is_asked=True) == 0
    assert group_operations(context, "t", is_asked=True) == 0


def test_cluster_is_told_only_to_those_who_may_describe_it() -> None:
    bench = MetadataBench({"authorizer.class.name": STANDARD_AUTHORIZER})
    context = bench.context(1, ALICE)
    assert bench.access is not None
    bench.access.create([allow(ResourceType.CLUSTER, CLUSTER_NAME, Operation.CREATE)])
    assert cluster_operations(context, is_asked=True) == 0
    bench.access.create([allow(ResourceType.CLUSTER, CLUSTER_NAME, Operation.DESCRIBE)])
    both = 1 << Operation.CREATE | 1 << Operation.DESCRIBE
    assert cluster_operations(context, is_asked=True) == both

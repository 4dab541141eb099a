"""Who may not do something gets the error of that kind of resource, and the operator learns it."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.config.broker_access import STANDARD_AUTHORIZER
from headrace.frontends.kafka.authorization import (
    maybe_cluster_refusal,
    maybe_group_refusal,
    maybe_topic_refusal,
    raise_if_cluster_refused,
    raise_if_creation_refused,
    raise_if_group_refused,
    raise_if_topic_refused,
    raise_if_transactional_id_refused,
)
from headrace.frontends.kafka.errors import error_code
from headrace.model.errors import AuthorizationFailed
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


def guarded(*rules: AclBinding) -> Any:
    bench = MetadataBench({"authorizer.class.name": STANDARD_AUTHORIZER})
    assert bench.access is not None
    bench.access.create(rules)
    return bench.context(1, ALICE)


def allow(resource_type: ResourceType, name: str, operation: Operation) -> AclBinding:
    pattern = PatternType.LITERAL
    return AclBinding(resource_type, name, pattern, ALICE, "*", operation, Permission.ALLOW)


def test_everything_is_allowed_without_an_authorizer() -> None:
    context = MetadataBench().context(1, ALICE)
    assert maybe_topic_refusal(context, Operation.READ, "t") is None
    assert maybe_group_refusal(context, Operation.READ, "g") is None
    assert maybe_cluster_refusal(context, Operation.ALTER) is None
    raise_if_topic_refused(context, Operation.DELETE, "t")
    raise_if_creation_refused(context, "t")


def test_each_kind_of_resource_has_its_own_code(caplog: pytest.LogCaptureFixture) -> None:
    context = guarded()
    calls = {
        29: lambda: raise_if_topic_refused(context, Operation.READ, "t"),
        30: lambda: raise_if_group_refused(context, Operation.READ, "g"),
        31: lambda: raise_if_cluster_refused(context, Operation.ALTER),
        53: lambda: raise_if_transactional_id_refused(context, Operation.WRITE, "x"),
    }
    for code, call in calls.items():
        with pytest.raises(AuthorizationFailed) as refused:
            call()
        assert error_code(refused.value) == code
    assert caplog.text.count("was denied") == len(calls)


@pytest.mark.parametrize(
    "right",
    [
        allow(ResourceType.CLUSTER, CLUSTER_NAME, Operation.CREATE),
        allow(ResourceType.TOPIC, "t", Operation.CREATE),
    ],
)
def test_topic_is_created_by_either_right(right: AclBinding) -> None:
    raise_if_creation_refused(guarded(right), "t")


def test_topic_is_not_created_without_a_right() -> None:
    context = guarded(allow(ResourceType.TOPIC, "other", Operation.CREATE))
    with pytest.raises(AuthorizationFailed):
        raise_if_creation_refused(context, "t")

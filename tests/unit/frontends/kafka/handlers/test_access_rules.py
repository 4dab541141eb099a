"""DescribeAcls, CreateAcls and DeleteAcls in every version."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.codecs.kafka.generated.create_acls import AclCreation, CreateAclsRequest
from headrace.codecs.kafka.generated.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from headrace.codecs.kafka.generated.describe_acls import DescribeAclsRequest
from headrace.config.broker_access import STANDARD_AUTHORIZER
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.handlers import (
    api_29_describe_acls,
    api_30_create_acls,
    api_31_delete_acls,
)
from headrace.security.acl import Principal
from headrace.testing.metadata_bench import MetadataBench

ADMIN = Principal.user("admin")
GUARDED = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:admin"}
TOPIC, GROUP, ANY, LITERAL, PREFIXED, MATCH = 2, 3, 1, 3, 4, 2
READ, WRITE, ALLOW, DENY = 3, 4, 3, 2
INVALID_REQUEST, SECURITY_DISABLED, CLUSTER_REFUSED, STORAGE_ERROR = 42, 54, 31, 56

VERSIONS = pytest.mark.parametrize("version", [1, 2, 3])


def creation(name: str = "orders", **changes: Any) -> AclCreation:
    fields = {
        "resource_type": TOPIC,
        "resource_name": name,
        "resource_pattern_type": LITERAL,
        "principal": "User:alice",
        "host": "*",
        "operation": READ,
        "permission_type": ALLOW,
    }
    return AclCreation(**{**fields, **changes})


def wanted(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "resource_type_filter": ANY,
        "resource_name_filter": None,
        "pattern_type_filter": ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": ANY,
        "permission_type": ANY,
    }
    return {**fields, **changes}


def call(
    bench: MetadataBench, handler: Any, request: Any, version: int = 3, who: Principal = ADMIN
) -> Any:
    answer = handler.handle(request, bench.context(version, who))
    if isinstance(answer, Pending):
        answers: list[Any] = []
        answer.attach(answers.append)
        bench.settle()
        (answer,) = answers
    return answer


def create(bench: MetadataBench, *creations: AclCreation, **more: Any) -> list[int]:
    answer = call(bench, api_30_create_acls, CreateAclsRequest(creations), **more)
    return [result.error_code for result in answer.results]


def describe(bench: MetadataBench, **changes: Any) -> dict[tuple[int, str, int], int]:
    """Number of rules by resource."""
    answer = call(bench, api_29_describe_acls, DescribeAclsRequest(**wanted(**changes)))
    assert (answer.error_code, answer.error_message) == (0, None)
    return {
        (each.resource_type, each.resource_name, each.pattern_type): len(each.acls)
        for each in answer.resources
    }


@VERSIONS
def test_rules_are_created_described_and_deleted(version: int) -> None:
    bench = MetadataBench(GUARDED)
    assert create(bench, creation(), creation(operation=WRITE), version=version) == [0, 0]
    request = DescribeAclsRequest(**wanted())
    (resource,) = call(bench, api_29_describe_acls, request, version).resources
    assert (resource.resource_type, resource.resource_name, resource.pattern_type) == (
        TOPIC,
        "orders",
        LITERAL,
    )
    described = [(a.principal, a.host, a.operation, a.permission_type) for a in resource.acls]
    assert described == [("User:alice", "*", READ, ALLOW), ("User:alice", "*", WRITE, ALLOW)]
    request = DeleteAclsRequest([DeleteAclsFilter(**wanted(operation=READ))])
    (deleted,) = call(bench, api_31_delete_acls, request, version).filter_results
    (gone,) = deleted.matching_acls
    assert (deleted.error_code, gone.error_code, gone.operation) == (0, 0, READ)
    assert describe(bench) == {(TOPIC, "orders", LITERAL): 1}


def test_filters_match_patterns_as_kafka_does() -> None:
    bench = MetadataBench(GUARDED)
    create(
        bench,
        creation("orders"),
        creation("ord", resource_pattern_type=PREFIXED),
        creation("*"),
        creation("orders", resource_type=GROUP),
    )
    matching = {"resource_type_filter": TOPIC, "resource_name_filter": "orders"}
    assert len(describe(bench, **matching, pattern_type_filter=MATCH)) == 3
    assert len(describe(bench, **matching, pattern_type_filter=LITERAL)) == 1
    assert len(describe(bench, pattern_type_filter=PREFIXED)) == 1
    assert len(describe(bench, principal_filter="User:bob")) == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"resource_type": 99},
        {"resource_type": 1},
        {"resource_pattern_type": MATCH},
        {"resource_name": ""},
        {"resource_type": 4, "resource_name": "another-cluster"},
        {"principal": "alice"},
        {"host": ""},
        {"operation": 1},
        {"permission_type": 0},
    ],
)
def test_rule_that_makes_no_sense_is_refused_alone(changes: dict[str, Any]) -> None:
    bench = MetadataBench(GUARDED)
    assert create(bench, creation(**changes), creation("fine")) == [INVALID_REQUEST, 0]
    assert describe(bench) == {(TOPIC, "fine", LITERAL): 1}


@pytest.mark.parametrize("changes", [{"operation": 99}, {"resource_type_filter": 0}])
def test_filter_that_makes_no_sense_is_refused_alone(changes: dict[str, Any]) -> None:
    bench = MetadataBench(GUARDED)
    create(bench, creation())
    bad = call(bench, api_29_describe_acls, DescribeAclsRequest(**wanted(**changes)))
    assert bad.error_code == INVALID_REQUEST
    filters = [DeleteAclsFilter(**wanted(**changes)), DeleteAclsFilter(**wanted())]
    answer = call(bench, api_31_delete_acls, DeleteAclsRequest(filters))
    assert [each.error_code for each in answer.filter_results] == [INVALID_REQUEST, 0]
    assert describe(bench) == {}


@VERSIONS
def test_without_an_authorizer_there_are_no_rules(version: int) -> None:
    bench = MetadataBench()
    assert create(bench, creation(), version=version) == [SECURITY_DISABLED]
    answer = call(bench, api_29_describe_acls, DescribeAclsRequest(**wanted()), version)
    assert answer.error_code == SECURITY_DISABLED
    request = DeleteAclsRequest([DeleteAclsFilter(**wanted())])
    (result,) = call(bench, api_31_delete_acls, request, version).filter_results
    assert result.error_code == SECURITY_DISABLED


def test_those_without_a_right_on_the_cluster_are_refused_and_nothing_changes() -> None:
    bench = MetadataBench(GUARDED)
    create(bench, creation())
    alice = Principal.user("alice")
    assert create(bench, creation("another"), who=alice) == [CLUSTER_REFUSED]
    request = DescribeAclsRequest(**wanted())
    answer = call(bench, api_29_describe_acls, request, who=alice)
    assert (answer.error_code, list(answer.resources)) == (CLUSTER_REFUSED, [])
    deletion = DeleteAclsRequest([DeleteAclsFilter(**wanted())])
    (result,) = call(bench, api_31_delete_acls, deletion, who=alice).filter_results
    assert (result.error_code, list(result.matching_acls)) == (CLUSTER_REFUSED, [])
    assert describe(bench) == {(TOPIC, "orders", LITERAL): 1}


def test_disk_that_refuses_fails_every_rule() -> None:
    bench = MetadataBench(GUARDED)
    bench.disk.fail_next("write")
    assert create(bench, creation(), creation("other")) == [STORAGE_ERROR, STORAGE_ERROR]
    assert describe(bench) == {}

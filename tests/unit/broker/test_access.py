"""Rules are kept, enforced at once, and there again after a restart."""

from __future__ import annotations

import logging

import pytest

from headrace.broker import access as access_module
from headrace.broker.access import (
    CREATIONS_MAX,
    FILTERS_MAX,
    AccessControl,
    parse_super_users,
)
from headrace.config.broker_access import STANDARD_AUTHORIZER
from headrace.coordination.metadata.records import AccessControlEntryRecord
from headrace.model.errors import (
    InvalidConfig,
    InvalidRequest,
    LimitReached,
    StorageFailure,
    UnsupportedVersion,
)
from headrace.security.acl import (
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    Principal,
    ResourceType,
)
from headrace.security.acl_entries import AclEntry
from headrace.testing.metadata_bench import MetadataBench

ALICE, BOB, ADMIN = Principal.user("alice"), Principal.user("bob"), Principal.user("admin")
HOST = "10.0.0.1"
GUARDED = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:admin"}


def rule(
    name: str = "orders",
    operation: Operation = Operation.READ,
    principal: Principal = ALICE,
    permission: Permission = Permission.ALLOW,
    pattern: PatternType = PatternType.LITERAL,
) -> AclBinding:
    return AclBinding(ResourceType.TOPIC, name, pattern, principal, "*", operation, permission)


def guarded() -> tuple[MetadataBench, AccessControl]:
    bench = MetadataBench(GUARDED)
    assert bench.access is not None
    return bench, bench.access


def may_read(access: AccessControl | None, principal: Principal = ALICE) -> bool:
    assert access is not None
    return access.authorize(principal, HOST, Operation.READ, ResourceType.TOPIC, "orders")


def test_broker_without_an_authorizer_has_no_access_control() -> None:
    assert MetadataBench().access is None


def test_rule_holds_from_its_creation_to_its_deletion() -> None:
    _, access = guarded()
    assert not may_read(access)
    assert access.create([rule()]) == [None]
    assert may_read(access)
    assert not may_read(access, BOB)
    assert access.delete([AclBindingFilter(principal="User:alice")]) == [[rule()]]
    assert not may_read(access)
    assert access.rule_count == 0


def test_super_user_needs_no_rule_and_is_above_denials() -> None:
    _, access = guarded()
    access.create([rule(principal=ADMIN, permission=Permission.DENY)])
    assert may_read(access, ADMIN)


@pytest.mark.parametrize("power_loss", [False, True])
def test_rules_survive_a_restart(power_loss: bool) -> None:
    bench, access = guarded()
    access.create([rule(), rule("gone"), rule(principal=BOB, permission=Permission.DENY)])
    access.delete([AclBindingFilter(resource_name="gone")])
    bench.settle()
    bench.restart(clean=False, power_loss=power_loss)
    assert bench.access is not access
    assert may_read(bench.access)
    assert not may_read(bench.access, BOB)
    assert bench.access is not None
    assert bench.access.rule_count == 2


def test_rules_survive_a_snapshot() -> None:
    bench = MetadataBench(GUARDED, log_size_bytes_max=200)
    assert bench.access is not None
    bench.access.create([rule()])
    for number in range(20):
        bench.create(f"t{number}")
        bench.settle()
    names = bench.disk.list("data/__cluster_metadata-0")
    assert [name for name in names if name.endswith(".checkpoint")]
    bench.restart(clean=False)
    assert may_read(bench.access)


def test_rule_that_exists_is_a_success_and_writes_nothing() -> None:
    bench, access = guarded()
    assert access.create([rule(), rule()]) == [None, None]
    assert access.create([rule()]) == [None]
    assert len(bench.store.state.access.rules) == access.rule_count == 1


def test_bad_rule_does_not_keep_the_others() -> None:
    _, access = guarded()
    bad = rule()._replace(operation=Operation.ANY)
    first, second = access.create([bad, rule()])
    assert isinstance(first, InvalidRequest)
    assert second is None
    assert may_read(access)


def test_number_of_rules_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    _, access = guarded()
    monkeypatch.setattr(access_module, "ACLS_MAX", 1)
    first, second = access.create([rule("a"), rule("b")])
    assert first is None
    assert isinstance(second, LimitReached)


def test_size_of_a_request_is_limited() -> None:
    _, access = guarded()
    with pytest.raises(LimitReached, match="create"):
        access.create([rule()] * (CREATIONS_MAX + 1))
    with pytest.raises(LimitReached, match="filters"):
        access.delete([AclBindingFilter()] * (FILTERS_MAX + 1))
    assert access.rule_count == 0


def test_rule_selected_by_two_filters_goes_once_and_is_told_twice() -> None:
    _, access = guarded()
    access.create([rule()])
    filters = [AclBindingFilter(principal="User:alice"), AclBindingFilter(resource_name="orders")]
    assert access.delete(filters) == [[rule()], [rule()]]
    assert access.delete(filters) == [[], []]


def test_disk_that_refuses_leaves_the_rules_as_they_were() -> None:
    bench, access = guarded()
    access.create([rule()])
    bench.disk.fail_next("write", StorageFailure("no"))
    with pytest.raises(StorageFailure):
        access.delete([AclBindingFilter()])
    assert may_read(access)


def test_rule_that_cannot_be_enforced_stops_the_start() -> None:
    bench, _ = guarded()
    strange = AclEntry(b"i" * 16, 99, "orders", 3, "User:alice", "*", 3, 2)
    bench.store.commit([AccessControlEntryRecord(strange)])
    with pytest.raises(UnsupportedVersion, match="cannot be enforced"):
        bench.restart()


def test_rules_without_an_authorizer_are_kept_and_said(caplog: pytest.LogCaptureFixture) -> None:
    bench, access = guarded()
    access.create([rule()])
    bench.static.clear()
    bench.restart()
    assert bench.access is None
    assert "1 access rules are not enforced" in caplog.text
    bench.static.update(GUARDED)
    bench.restart()
    assert may_read(bench.access)


def test_denial_is_logged_once_until_the_rules_change(caplog: pytest.LogCaptureFixture) -> None:
    _, access = guarded()
    denial = (ALICE, HOST, Operation.READ, ResourceType.TOPIC, "orders")
    with caplog.at_level(logging.WARNING):
        access.note_denial(*denial)
        access.note_denial(*denial)
        assert caplog.text.count("User:alice at 10.0.0.1 was denied READ on TOPIC 'orders'") == 1
        access.create([rule("another")])
        access.note_denial(*denial)
    assert caplog.text.count("was denied") == 2


def test_super_users_are_separated_by_semicolons() -> None:
    assert parse_super_users("") == []
    assert parse_super_users("User:admin; User:CN=ops,O=x;") == [
        ADMIN,
        Principal.user("CN=ops,O=x"),
    ]
    with pytest.raises(InvalidConfig, match=r"super\.users"):
        parse_super_users("admin")

import pytest

from headrace.model.errors import InvalidRequest, LimitReached
from headrace.security import acl_index
from headrace.security.acl import (
    EVERYONE,
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    Principal,
    ResourceType,
)
from headrace.security.acl_index import AclIndex

ALICE = Principal.user("alice")


def rule(name, pattern_type=PatternType.LITERAL, principal=ALICE):
    return AclBinding(
        ResourceType.TOPIC, name, pattern_type, principal, "*", Operation.READ, Permission.ALLOW
    )


def test_look_up_finds_literal_wildcard_and_prefixes_only():
    index = AclIndex()
    fitting = [
        rule("orders"),
        rule("*"),
        rule("ord", PatternType.PREFIXED),
        rule("o", PatternType.PREFIXED, EVERYONE),
    ]
    others = [
        rule("ord"),
        rule("orders-2", PatternType.PREFIXED),
        rule("x", PatternType.PREFIXED),
        rule("orders", principal=Principal.user("bob")),
    ]
    for binding in fitting + others:
        assert index.add(binding)
    assert set(index.applying(ALICE, ResourceType.TOPIC, "orders")) == set(fitting)
    assert not list(index.applying(ALICE, ResourceType.GROUP, "orders"))
    assert set(index.of_principal(ALICE, ResourceType.TOPIC)) == set(fitting + others[:3])
    assert list(index) == index.matching(AclBindingFilter()) == fitting + others


def test_same_rule_counts_once_and_is_gone_once_removed():
    index = AclIndex()
    prefix = rule("ord", PatternType.PREFIXED)
    assert [index.add(prefix), index.add(prefix), len(index)] == [True, False, 1]
    assert index.is_covered(ResourceType.TOPIC, "orders")
    assert [index.remove(prefix), index.remove(prefix), len(index)] == [True, False, 0]
    assert not index.is_covered(ResourceType.TOPIC, "orders")
    assert prefix not in index


def test_prefix_length_stays_while_another_prefix_has_it():
    index = AclIndex()
    index.add(rule("abc", PatternType.PREFIXED))
    index.add(rule("xyz", PatternType.PREFIXED))
    index.remove(rule("abc", PatternType.PREFIXED))
    assert index.is_covered(ResourceType.TOPIC, "xyz-1")


def test_everything_left_behind_by_removal_is_empty():
    index = AclIndex()
    bindings = [rule(name, kind) for name in "abc" for kind in (PatternType(3), PatternType(4))]
    for binding in bindings:
        index.add(binding)
    for binding in bindings:
        index.remove(binding)
    assert not index._by_pattern
    assert not index._by_principal
    assert not any(index._prefix_lengths.values())


def test_bad_rule_and_one_too_many_are_refused_and_change_nothing(monkeypatch):
    index = AclIndex()
    with pytest.raises(InvalidRequest):
        index.add(rule(""))
    monkeypatch.setattr(acl_index, "ACLS_MAX", 1)
    index.add(rule("a"))
    with pytest.raises(LimitReached):
        index.add(rule("b"))
    assert list(index) == [rule("a")]

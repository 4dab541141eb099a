from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.security import authorizer as authorizer_module
from headrace.security.acl import (
    EVERYONE,
    AclBinding,
    Operation,
    PatternType,
    Permission,
    Principal,
    ResourceType,
)
from headrace.security.authorizer import Authorizer

ALICE, BOB = Principal.user("alice"), Principal.user("bob")
HOST = "10.0.0.1"
TOPIC = ResourceType.TOPIC


def rule(
    name,
    operation=Operation.READ,
    permission=Permission.ALLOW,
    *,
    prefixed=False,
    principal=ALICE,
    host="*",
):
    pattern_type = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    return AclBinding(TOPIC, name, pattern_type, principal, host, operation, permission)


def with_rules(*rules, **options):
    authorizer = Authorizer(**options)
    for binding in rules:
        authorizer.add(binding)
    return authorizer


def may(authorizer, operation, name="orders", principal=ALICE, host=HOST):
    return authorizer.authorize(principal, host, operation, TOPIC, name)


def test_deny_beats_allow_whatever_the_patterns():
    patterns = [("orders", False), ("*", False), ("ord", True)]
    for (allowed, is_prefix), (denied, also_prefix) in permutations(patterns, 2):
        authorizer = with_rules(
            rule(allowed, prefixed=is_prefix),
            rule(denied, Operation.ALL, Permission.DENY, prefixed=also_prefix),
        )
        assert not may(authorizer, Operation.READ), f"{denied} denies, {allowed} allows"


def test_everyone_and_host_are_honoured():
    authorizer = with_rules(rule("*", principal=EVERYONE, host=HOST))
    assert may(authorizer, Operation.READ, principal=BOB)
    assert not may(authorizer, Operation.READ, principal=BOB, host="10.0.0.2")
    assert not may(with_rules(rule("*", principal=Principal("Group", "*"))), Operation.READ)


@pytest.mark.parametrize(
    ("granted", "asked", "expected"),
    [
        (Operation.READ, Operation.DESCRIBE, True),
        (Operation.WRITE, Operation.DESCRIBE, True),
        (Operation.DELETE, Operation.DESCRIBE, True),
        (Operation.ALTER, Operation.DESCRIBE, True),
        (Operation.CREATE, Operation.DESCRIBE, False),
        (Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS, True),
        (Operation.ALTER, Operation.DESCRIBE_CONFIGS, False),
        (Operation.ALL, Operation.WRITE, True),
        (Operation.DESCRIBE, Operation.READ, False),
    ],
)
def test_allowing_implies_describing(granted, asked, expected):
    assert may(with_rules(rule("orders", granted)), asked) is expected


def test_denying_implies_nothing():
    authorizer = with_rules(
        rule("orders", Operation.ALL), rule("orders", Operation.READ, Permission.DENY)
    )
    assert may(authorizer, Operation.DESCRIBE)
    assert not may(authorizer, Operation.READ)


def test_super_user_may_do_what_is_denied():
    authorizer = with_rules(
        rule("*", Operation.ALL, Permission.DENY, principal=EVERYONE), super_users=[ALICE]
    )
    assert may(authorizer, Operation.ALTER)
    assert not may(authorizer, Operation.ALTER, principal=BOB)
    assert authorizer.authorize_by_resource_type(ALICE, HOST, Operation.WRITE, TOPIC)


def test_uncovered_resource_is_everyones_if_so_configured():
    authorizer = with_rules(
        rule("secret", prefixed=True, principal=BOB), allow_everyone_if_no_acl_found=True
    )
    assert may(authorizer, Operation.WRITE)
    assert not may(authorizer, Operation.READ, "secret-1")
    assert not may(with_rules(), Operation.WRITE)


def test_change_of_rules_is_seen_at_once():
    authorizer = with_rules()
    assert not may(authorizer, Operation.READ)
    authorizer.add(rule("orders"))
    assert may(authorizer, Operation.READ)
    authorizer.remove(rule("orders"))
    assert not may(authorizer, Operation.READ)
    assert len(authorizer) == 0


def test_remembered_decisions_are_bounded(monkeypatch):
    monkeypatch.setattr(authorizer_module, "DECISIONS_KEPT_MAX", 3)
    authorizer = with_rules(rule("topic-7"))
    assert [may(authorizer, Operation.READ, f"topic-{i}") for i in range(10)].index(True) == 7
    assert len(authorizer._decisions) <= 3


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([], False),
        ([rule("a", Operation.WRITE)], True),
        ([rule("a", Operation.WRITE), rule("*", Operation.WRITE, Permission.DENY)], False),
        ([rule("*", Operation.ALL), rule("a", Operation.WRITE, Permission.DENY)], True),
        ([rule("a", Operation.WRITE), rule("a", Operation.WRITE, Permission.DENY)], False),
        (
            [
                rule("abc", Operation.WRITE, prefixed=True),
                rule("ab", Operation.ALL, Permission.DENY, prefixed=True),
            ],
            False,
        ),
        (
            [
                rule("ab", Operation.WRITE, prefixed=True),
                rule("abc", Operation.WRITE, Permission.DENY, prefixed=True),
            ],
            True,
        ),
        (
            [
                rule("ab", Operation.WRITE, prefixed=True),
                rule("ab", Operation.WRITE, Permission.DENY),
            ],
            True,
        ),
        ([rule("a", Operation.READ)], False),
        ([rule("a", Operation.WRITE, host="10.9.9.9")], False),
        ([rule("a", Operation.WRITE, principal=EVERYONE)], True),
    ],
)
def test_any_topic_is_found_unless_dominated(rules, expected):
    authorizer = with_rules(*rules)
    for _ in range(2):
        found = authorizer.authorize_by_resource_type(ALICE, HOST, Operation.WRITE, TOPIC)
        assert found is expected


def test_authorized_operations_are_bits():
    authorizer = with_rules(rule("orders", Operation.READ))
    bits = authorizer.authorized_operations(ALICE, HOST, TOPIC, "orders")
    assert bits == 1 << Operation.READ | 1 << Operation.DESCRIBE


# --- against a naive oracle ---------------------------------------------------------------------

NAMES = st.text("ab", min_size=1, max_size=3)
OPERATIONS = st.sampled_from([Operation.READ, Operation.WRITE, Operation.DESCRIBE])
RULES = st.builds(
    AclBinding,
    st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
    NAMES | st.just("*"),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    st.sampled_from([ALICE, BOB, EVERYONE]),
    st.sampled_from(["*", HOST]),
    OPERATIONS | st.just(Operation.ALL),
    st.sampled_from([Permission.ALLOW, Permission.DENY]),
)
IMPLYING = {Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.ALL}


def naive(rules, operation, name, host, everyone):
    covering = [r for r in rules if r.resource_type is TOPIC and r.covers(name)]
    mine = [r for r in covering if r.principal in (ALICE, EVERYONE) and r.host in ("*", host)]
    denied = any(
        r.permission is Permission.DENY and r.operation in (operation, Operation.ALL) for r in mine
    )
    granting = IMPLYING if operation is Operation.DESCRIBE else {operation, Operation.ALL}
    allowed = any(r.permission is Permission.ALLOW and r.operation in granting for r in mine)
    return not denied and (allowed or (everyone and not covering))


@settings(max_examples=120, deadline=None)
@given(
    st.lists(RULES, max_size=12),
    st.sets(st.integers(0, 11)),
    st.lists(st.tuples(OPERATIONS, NAMES, st.sampled_from([HOST, "::1"])), max_size=6),
    st.booleans(),
)
def test_index_decides_as_a_scan_of_all_rules_would(rules, removed, questions, everyone):
    authorizer = with_rules(*rules, allow_everyone_if_no_acl_found=everyone)
    left = dict.fromkeys(rules)
    for position in removed:
        if position < len(rules):
            assert authorizer.remove(rules[position]) is (rules[position] in left)
            left.pop(rules[position], None)
    for operation, name, host in questions:
        expected = naive(left, operation, name, host, everyone)
        assert may(authorizer, operation, name, host=host) is expected


@settings(max_examples=80, deadline=None)
@given(st.lists(RULES, max_size=8), st.sampled_from([Operation.READ, Operation.WRITE]))
def test_allowed_somewhere_agrees_with_trying_names(rules, operation):
    authorizer = with_rules(*rules)
    names = [r.resource_name + tail for r in rules for tail in ("", "zz")] + ["hardcode"]
    found = any(may(authorizer, operation, name) for name in names)
    by_type = authorizer.authorize_by_resource_type(ALICE, HOST, operation, TOPIC)
    assert by_type is found

import pytest

from headrace.model.errors import InvalidRequest
from headrace.security.acl import (
    CLUSTER_NAME,
    FIELD_LENGTH_MAX,
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    Principal,
    ResourceType,
)

ALICE = Principal.user("alice")


def rule(name="orders", pattern_type=PatternType.LITERAL, **changes):
    binding = AclBinding(
        ResourceType.TOPIC, name, pattern_type, ALICE, "*", Operation.READ, Permission.ALLOW
    )
    return binding._replace(**changes)


def test_principal_is_parsed_and_printed():
    assert Principal.parse("User:CN=a,O=b:c") == Principal("User", "CN=a,O=b:c")
    assert str(ALICE) == "User:alice"


@pytest.mark.parametrize("text", ["", "alice", ":alice", "User:"])
def test_principal_without_kind_or_name_is_refused(text):
    with pytest.raises(InvalidRequest):
        Principal.parse(text)


@pytest.mark.parametrize(
    "binding",
    [
        rule(""),
        rule("x" * (FIELD_LENGTH_MAX + 1)),
        rule(resource_type=ResourceType.ANY),
        rule(resource_type=ResourceType.UNKNOWN),
        rule(pattern_type=PatternType.MATCH),
        rule(pattern_type=PatternType.ANY),
        rule(operation=Operation.ANY),
        rule(permission=Permission.UNKNOWN),
        rule(host=""),
        rule(principal=Principal("User", "")),
        rule("another-cluster", resource_type=ResourceType.CLUSTER),
    ],
)
def test_rule_that_cannot_be_stored_is_refused(binding):
    with pytest.raises(InvalidRequest):
        binding.raise_if_invalid()


def test_rule_that_can_be_stored_is_accepted():
    for binding in (rule(), rule("*"), rule(CLUSTER_NAME, resource_type=ResourceType.CLUSTER)):
        binding.raise_if_invalid()
        assert AclBindingFilter().matches(binding)


@pytest.mark.parametrize(
    ("pattern_type", "name", "expected"),
    [
        (PatternType.LITERAL, "orders", {"orders"}),
        (PatternType.PREFIXED, "ord", {"ord+"}),
        (PatternType.ANY, "ord", {"ord+"}),
        (PatternType.ANY, "orders", {"orders"}),
        (PatternType.MATCH, "orders", {"orders", "*", "ord+"}),
        (PatternType.MATCH, "ord", {"*", "ord+"}),
        (PatternType.MATCH, "other", {"*"}),
        (PatternType.MATCH, None, {"orders", "*", "ord+"}),
        (PatternType.ANY, None, {"orders", "*", "ord+"}),
        (PatternType.LITERAL, "*", {"*"}),
        (PatternType.LITERAL, None, {"orders", "*"}),
    ],
)
def test_filter_selects_patterns_as_kafka_does(pattern_type, name, expected):
    rules = {
        "orders": rule(),
        "*": rule("*"),
        "ord+": rule("ord", PatternType.PREFIXED),
    }
    wanted = AclBindingFilter(resource_name=name, pattern_type=pattern_type)
    assert {key for key, binding in rules.items() if wanted.matches(binding)} == expected


@pytest.mark.parametrize(
    ("wanted", "is_match"),
    [
        (AclBindingFilter(principal="User:alice"), True),
        (AclBindingFilter(principal="User:bob"), False),
        (AclBindingFilter(host="*"), True),
        (AclBindingFilter(host="10.0.0.1"), False),
        (AclBindingFilter(operation=Operation.READ), True),
        (AclBindingFilter(operation=Operation.ALL), False),
        (AclBindingFilter(permission=Permission.DENY), False),
        (AclBindingFilter(resource_type=ResourceType.GROUP), False),
    ],
)
def test_filter_compares_the_other_fields(wanted, is_match):
    assert wanted.matches(rule()) is is_match


def test_filter_with_an_unknown_code_is_refused():
    with pytest.raises(InvalidRequest):
        AclBindingFilter(operation=Operation.UNKNOWN).raise_if_invalid()
    AclBindingFilter().raise_if_invalid()

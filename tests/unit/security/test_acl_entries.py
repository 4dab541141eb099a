import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.model.errors import InvalidRequest
from headrace.security.acl import (
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    Principal,
    ResourceType,
)
from headrace.security.acl_entries import AclEntries, AclEntry, binding_of, entry_of
from headrace.security.authorizer import Authorizer

RULE = AclBinding(
    ResourceType.TOPIC,
    "orders",
    PatternType.LITERAL,
    Principal.user("alice"),
    "*",
    Operation.READ,
    Permission.ALLOW,
)
ID = bytes(range(16))


def test_rule_survives_the_round_trip_through_its_record():
    entry = entry_of(ID, RULE)
    assert entry == AclEntry(ID, 2, "orders", 3, "User:alice", "*", 3, 3)
    assert binding_of(entry) == RULE


def test_replay_feeds_the_authorizer_and_removal_undoes_it():
    authorizer = Authorizer()
    entries = AclEntries(authorizer)
    entries.replay(entry_of(ID, RULE))
    assert RULE in authorizer
    assert entries.maybe_id_of(RULE) == ID
    assert list(entries.snapshot()) == [entry_of(ID, RULE)]
    entries.replay_removal(ID)
    assert (len(authorizer), len(entries), entries.maybe_id_of(RULE)) == (0, 0, None)


def test_snapshot_makes_the_same_rules_again():
    first = AclEntries(Authorizer())
    for number in range(5):
        first.replay(entry_of(bytes([number]) * 16, RULE._replace(resource_name=f"t{number}")))
    authorizer = Authorizer()
    second = AclEntries(authorizer)
    for entry in first.snapshot():
        second.replay(entry)
    assert list(second.snapshot()) == list(first.snapshot())
    assert len(authorizer.matching(AclBindingFilter())) == 5


@pytest.mark.parametrize(
    "entry", [entry_of(ID, RULE), entry_of(bytes(16), RULE), entry_of(b"short", RULE)]
)
def test_bad_replay_is_refused_and_changes_nothing(entry):
    entries = AclEntries(Authorizer())
    entries.replay(entry_of(ID, RULE))
    with pytest.raises(InvalidRequest):
        entries.replay(entry)
    with pytest.raises(InvalidRequest):
        entries.replay_removal(bytes(16))
    assert list(entries.snapshot()) == [entry_of(ID, RULE)]


CODES = st.integers(-128, 127)


@given(
    st.builds(AclEntry, st.just(ID), CODES, st.text(), CODES, st.text(), st.text(), CODES, CODES)
)
def test_any_record_gives_a_rule_or_the_named_error(entry):
    try:
        binding = binding_of(entry)
    except InvalidRequest:
        return
    assert entry_of(ID, binding) == entry

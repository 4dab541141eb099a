"""Rules and credentials follow the records, and a snapshot makes them again."""

from __future__ import annotations

import pytest

from headrace.coordination.metadata.access_state import AccessState
from headrace.coordination.metadata.records import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from headrace.coordination.metadata.snapshot import snapshot_records
from headrace.coordination.metadata.state import MetadataState
from headrace.model.errors import DamagedLog
from headrace.security.acl_entries import AclEntry


def rule(number: int) -> AclEntry:
    return AclEntry(bytes([number]) * 16, 2, f"t{number}", 3, "User:alice", "*", 3, 3)


def credential(user: str, iterations: int = 4096) -> UserScramCredentialRecord:
    return UserScramCredentialRecord(user, 1, b"salt", b"stored", b"server", iterations)


def test_rules_come_and_go() -> None:
    state = AccessState()
    state.replay(AccessControlEntryRecord(rule(1)))
    state.replay(AccessControlEntryRecord(rule(2)))
    state.replay(RemoveAccessControlEntryRecord(rule(1).id))
    assert list(state.rules.values()) == [rule(2)]


def test_removal_of_a_rule_that_never_was_is_damage() -> None:
    with pytest.raises(DamagedLog, match="never created"):
        AccessState().replay(RemoveAccessControlEntryRecord(b"x" * 16))


def test_newer_credential_replaces_the_older_one() -> None:
    state = AccessState()
    for record in (credential("alice"), credential("bob"), credential("alice", 8192)):
        state.replay(record)
    state.replay(RemoveUserScramCredentialRecord("bob", 1))
    assert list(state.credentials.values()) == [credential("alice", 8192)]


def test_snapshot_of_the_whole_state_keeps_both() -> None:
    state, copy = MetadataState(), MetadataState()
    for record in (AccessControlEntryRecord(rule(1)), credential("alice"), credential("bob")):
        state.replay(record)
    for again in snapshot_records(state, 1):
        copy.replay(again)
    assert copy.access.rules == state.access.rules == {rule(1).id: rule(1)}
    assert copy.access.credentials == state.access.credentials
    assert len(copy.access.credentials) == 2

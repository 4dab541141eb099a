"""What a request to change SCRAM credentials writes, and what it is refused for."""

from __future__ import annotations

import hashlib

import pytest

from headrace.coordination.metadata import credentials
from headrace.coordination.metadata.access_state import AccessState
from headrace.coordination.metadata.credentials import (
    USER_NAME_LENGTH_MAX,
    CredentialChange,
    CredentialDeletion,
    CredentialUpsertion,
    decide_credentials,
)
from headrace.coordination.metadata.records import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from headrace.model.errors import (
    DuplicateResource,
    HeadraceError,
    LimitReached,
    ResourceNotFound,
    UnacceptableCredential,
    UnsupportedSaslMechanism,
)
from headrace.security.scram_credential import ScramCredential, ScramMechanism

SHA_256, SHA_512 = 1, 2
SALT = b"salt of the earth"


def upsertion(
    user: str = "alice", mechanism: int = SHA_256, iterations: int = 4096, password: bytes = b"pw"
) -> CredentialUpsertion:
    hash_name = "sha512" if mechanism == SHA_512 else "sha256"
    salted = hashlib.pbkdf2_hmac(hash_name, password, SALT, iterations)
    return CredentialUpsertion(user, mechanism, iterations, SALT, salted)


def state_with(*changes: CredentialUpsertion) -> AccessState:
    state = AccessState()
    for record in decide_credentials(state, changes).records:
        assert isinstance(record, UserScramCredentialRecord)
        state.replay(record)
    return state


def refusal(state: AccessState, *changes: CredentialChange) -> HeadraceError | None:
    """Of a request about one user, which must not write anything if it is refused."""
    decision = decide_credentials(state, changes)
    (outcome,) = decision.outcomes.values()
    assert bool(decision.records) == (outcome is None)
    return outcome


def test_only_the_derived_keys_are_written() -> None:
    change = upsertion()
    (record,) = decide_credentials(AccessState(), [change]).records
    wanted = ScramCredential.from_password(ScramMechanism.SCRAM_SHA_256, "pw", SALT, 4096)
    assert record == UserScramCredentialRecord(
        "alice", SHA_256, SALT, wanted.stored_key, wanted.server_key, 4096
    )
    assert change.salted_password not in (wanted.stored_key, wanted.server_key)


def test_both_mechanisms_of_a_user_change_in_one_request() -> None:
    state = state_with(upsertion())
    decision = decide_credentials(
        state, [CredentialDeletion("alice", SHA_256), upsertion(mechanism=SHA_512)]
    )
    assert decision.outcomes == {"alice": None}
    assert decision.records[0] == RemoveUserScramCredentialRecord("alice", SHA_256)
    assert len(decision.records) == 2


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (upsertion(user=""), UnacceptableCredential),
        (upsertion(user="x" * (USER_NAME_LENGTH_MAX + 1)), UnacceptableCredential),
        (upsertion(iterations=4095), UnacceptableCredential),
        (upsertion(iterations=16385), UnacceptableCredential),
        (CredentialUpsertion("alice", 9, 4096, SALT, bytes(32)), UnsupportedSaslMechanism),
        (CredentialUpsertion("alice", SHA_256, 4096, SALT, bytes(31)), UnacceptableCredential),
        (CredentialUpsertion("alice", SHA_256, 4096, b"", bytes(32)), UnacceptableCredential),
        (CredentialDeletion("alice", 0), UnsupportedSaslMechanism),
        (CredentialDeletion("alice", SHA_256), ResourceNotFound),
    ],
)
def test_change_that_makes_no_sense_is_refused(
    change: CredentialChange, error: type[HeadraceError]
) -> None:
    assert isinstance(refusal(AccessState(), change), error)


def test_change_of_the_same_credential_twice_is_refused() -> None:
    state = state_with(upsertion())
    twice = (CredentialDeletion("alice", SHA_256), upsertion())
    assert isinstance(refusal(state, *twice), DuplicateResource)


def test_users_succeed_and_fail_one_by_one() -> None:
    changes = [upsertion(), upsertion(mechanism=SHA_512, iterations=1), upsertion("bob")]
    decision = decide_credentials(AccessState(), changes)
    assert isinstance(decision.outcomes["alice"], UnacceptableCredential)
    assert decision.outcomes["bob"] is None
    assert [record.user for record in decision.records] == ["bob"]  # type: ignore[union-attr]


def test_number_of_credentials_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "CREDENTIALS_MAX", 1)
    state = state_with(upsertion())
    assert isinstance(refusal(state, upsertion("bob")), LimitReached)
    assert refusal(state, upsertion(password=b"another")) is None
    assert refusal(state, CredentialDeletion("alice", SHA_256)) is None


def test_salted_password_is_not_shown() -> None:
    shown = repr(CredentialUpsertion("alice", SHA_256, 4096, b"SALT", b"SALTED"))
    assert "SALT" not in shown

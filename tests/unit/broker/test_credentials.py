"""SCRAM credentials: set, described without their secrets, kept over restarts."""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING

from headrace.broker.credentials import DescribedCredential
from headrace.coordination.metadata.credentials import CredentialDeletion, CredentialUpsertion
from headrace.coordination.metadata.records import UserScramCredentialRecord
from headrace.model.errors import DuplicateResource, ResourceNotFound, UnacceptableCredential
from headrace.security.scram_credential import ScramMechanism
from headrace.testing.metadata_bench import MetadataBench

if TYPE_CHECKING:
    import pytest

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
SALT = b"pepper"


def upsertion(
    user: str, password: str = "secret", mechanism: ScramMechanism = SHA_256
) -> CredentialUpsertion:
    salted = hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), SALT, 4096)
    return CredentialUpsertion(user, mechanism, 4096, SALT, salted)


def test_credential_fits_the_password_and_no_other() -> None:
    bench = MetadataBench()
    assert bench.credentials.alter([upsertion("alice")]) == {"alice": None}
    credential = bench.credentials.scram("alice", SHA_256)
    assert credential is not None
    assert credential.is_password("secret")
    assert not credential.is_password("Secret")
    assert bench.credentials.scram("alice", SHA_512) is None
    assert bench.credentials.scram("bob", SHA_256) is None


def test_credentials_survive_a_restart_until_they_are_deleted() -> None:
    bench = MetadataBench()
    bench.credentials.alter([upsertion("alice"), upsertion("alice", mechanism=SHA_512)])
    bench.restart(clean=False)
    credential = bench.credentials.scram("alice", SHA_512)
    assert credential is not None
    assert credential.is_password("secret")
    assert bench.credentials.alter([CredentialDeletion("alice", SHA_512)]) == {"alice": None}
    bench.restart()
    assert bench.credentials.scram("alice", SHA_512) is None
    assert bench.credentials.scram("alice", SHA_256) is not None


def test_new_password_replaces_the_old_one() -> None:
    bench = MetadataBench()
    bench.credentials.alter([upsertion("alice", "old")])
    bench.credentials.alter([upsertion("alice", "new")])
    credential = bench.credentials.scram("alice", SHA_256)
    assert credential is not None
    assert credential.is_password("new")
    assert not credential.is_password("old")


def test_refused_user_keeps_what_there_was() -> None:
    bench = MetadataBench()
    bench.credentials.alter([upsertion("alice")])
    bad = CredentialUpsertion("alice", SHA_256, 1, SALT, bytes(32))
    outcomes = bench.credentials.alter([bad, upsertion("bob")])
    assert isinstance(outcomes["alice"], UnacceptableCredential)
    assert outcomes["bob"] is None
    credential = bench.credentials.scram("alice", SHA_256)
    assert credential is not None
    assert credential.is_password("secret")


def test_all_users_are_described_by_mechanism_and_iterations() -> None:
    bench = MetadataBench()
    bench.credentials.alter([upsertion("bob"), upsertion("alice", mechanism=SHA_512)])
    assert bench.credentials.describe(None) == bench.credentials.describe([])
    assert bench.credentials.describe(None) == {
        "alice": [DescribedCredential(2, 4096)],
        "bob": [DescribedCredential(1, 4096)],
    }


def test_users_are_described_one_by_one() -> None:
    bench = MetadataBench()
    bench.credentials.alter([upsertion("alice"), upsertion("bob")])
    found = bench.credentials.describe(["bob", "nobody", "alice", "alice"])
    assert list(found) == ["bob", "nobody", "alice"]
    assert found["bob"] == [DescribedCredential(1, 4096)]
    assert isinstance(found["nobody"], ResourceNotFound)
    assert isinstance(found["alice"], DuplicateResource)


def test_credential_that_another_wrote_too_weak_lets_nobody_in(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = MetadataBench()
    weak = UserScramCredentialRecord("alice", SHA_256, SALT, bytes(32), bytes(32), 1)
    bench.store.commit([weak])
    assert bench.credentials.scram("alice", SHA_256) is None
    assert "cannot be used" in caplog.text


def test_nothing_of_a_credential_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    bench = MetadataBench()
    change = upsertion("alice")
    with caplog.at_level(logging.DEBUG):
        bench.credentials.alter([change])
    (record,) = bench.store.state.access.credentials.values()
    assert "alice" in caplog.text
    for secret in (change.salted_password, record.salt, record.stored_key, record.server_key):
        assert repr(secret) not in caplog.text
        assert secret.hex() not in caplog.text

"""Where a listener finds its users."""

from __future__ import annotations

import pytest

from headrace.environment.real import RealChance
from headrace.frontends.common.known_users import SALT_BYTES, KnownUsers
from headrace.security.scram_credential import ITERATIONS_MIN, ScramCredential, ScramMechanism

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
STORED = ScramCredential.from_password(SHA_512, "stored", b"salt", ITERATIONS_MIN)


class Stored:
    """The metadata log: bob and alice, by SHA-512 only."""

    def scram(self, user: str, mechanism: ScramMechanism) -> ScramCredential | None:
        return STORED if user in ("bob", "alice") and mechanism is SHA_512 else None


@pytest.fixture(scope="module")
def users() -> KnownUsers:
    return KnownUsers("alice:given", Stored(), RealChance())


def test_given_user_has_a_credential_for_each_mechanism(users: KnownUsers) -> None:
    for mechanism in ScramMechanism:
        credential = users.find("alice", mechanism)
        assert credential is not None
        assert credential.mechanism is mechanism
        assert credential.is_password("given")
        assert not credential.is_password("stored")


def test_stored_user_is_found_by_whatever_it_has(users: KnownUsers) -> None:
    assert users.find("bob", SHA_256) is None
    assert users.find_any("bob") is STORED


def test_nobody_else_is_found(users: KnownUsers) -> None:
    assert users.find_any("carol") is None


def test_fake_credential_looks_like_a_given_one(users: KnownUsers) -> None:
    fake, real = users.fakes.of(SHA_256, "carol"), users.find("alice", SHA_256)
    assert real is not None
    assert len(fake.salt) == len(real.salt) == SALT_BYTES
    assert fake.iterations == real.iterations

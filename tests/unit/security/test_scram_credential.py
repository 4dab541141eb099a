import base64

import pytest

from headrace.model.errors import UnacceptableCredential
from headrace.security.scram_credential import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    SALT_BYTES_MAX,
    FakeCredentials,
    ScramCredential,
    ScramMechanism,
    ScramPasswords,
)

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
FAKES = FakeCredentials(b"a secret of the server")


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_password_is_recognised(mechanism):
    credential = ScramCredential.from_password(mechanism, "pencil", b"salt", ITERATIONS_MIN)
    assert credential.is_password("pencil")
    assert not credential.is_password("pencils")


def test_mechanisms_have_their_names():
    assert [one.sasl_name for one in ScramMechanism] == ["SCRAM-SHA-256", "SCRAM-SHA-512"]


def test_keys_are_not_printed():
    credential = ScramCredential.from_password(SHA_256, "pencil", b"salty-salt", ITERATIONS_MIN)
    assert "salt" not in repr(credential)
    assert repr(credential.stored_key) not in repr(credential)
    assert "secret of" not in repr(FAKES)


@pytest.mark.parametrize(
    ("password", "salt", "iterations"),
    [
        ("pencil", b"salt", ITERATIONS_MIN - 1),
        ("pencil", b"salt", ITERATIONS_MAX + 1),
        ("pencil", b"", ITERATIONS_MIN),
        ("pencil", bytes(SALT_BYTES_MAX + 1), ITERATIONS_MIN),
        ("", b"salt", ITERATIONS_MIN),
    ],
)
def test_unacceptable_credential_is_refused(password, salt, iterations):
    with pytest.raises(UnacceptableCredential):
        ScramCredential.from_password(SHA_256, password, salt, iterations)


def test_keys_of_another_length_are_refused():
    with pytest.raises(UnacceptableCredential):
        ScramCredential.from_salted_password(SHA_512, bytes(32), b"salt", ITERATIONS_MIN)
    with pytest.raises(UnacceptableCredential):
        ScramCredential(SHA_256, b"salt", bytes(64), bytes(32), ITERATIONS_MIN)


def test_fakes_are_stable_and_differ_by_name_mechanism_and_secret():
    fake = FAKES.of(SHA_256, "nobody")
    assert fake == FAKES.of(SHA_256, "nobody")
    others = [
        FAKES.of(SHA_256, "somebody"),
        FAKES.of(SHA_512, "nobody"),
        FakeCredentials(b"another secret of it").of(SHA_256, "nobody"),
    ]
    assert len({fake.salt, *(other.salt for other in others)}) == 4
    assert len(fake.salt) == FAKES.salt_bytes
    assert base64.b64encode(fake.salt)


def test_short_secret_is_refused():
    with pytest.raises(UnacceptableCredential):
        FakeCredentials(b"short")


def test_plain_passwords_are_checked_without_storing_them():
    stored = {"tim": ScramCredential.from_password(SHA_512, "pencil", b"salt", ITERATIONS_MIN)}
    passwords = ScramPasswords(SHA_512, stored.get, FAKES)
    assert passwords.is_password("tim", "pencil")
    assert not passwords.is_password("tim", "pen")
    assert not passwords.is_password("nobody", "pencil")

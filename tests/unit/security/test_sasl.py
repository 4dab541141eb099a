import pytest

from headrace.model.errors import AuthenticationFailed, PrincipalChanged
from headrace.security.acl import Principal
from headrace.security.sasl import (
    LOGGED_CHARACTERS_MAX,
    SessionLifetime,
    decode_text,
    invalid_credentials,
    raise_if_identity_changed,
    session_lifetime,
)

ALICE, BOB = Principal.user("alice"), Principal.user("bob")


@pytest.mark.parametrize(
    ("credential_expires_at_ms", "reauthentication_ms_max", "expected"),
    [
        (None, 0, SessionLifetime(0, None)),
        (None, 60_000, SessionLifetime(60_000, 61_000)),
        (5_000, 0, SessionLifetime(4_000, 5_000)),
        (5_000, 60_000, SessionLifetime(4_000, 5_000)),
        (500_000, 60_000, SessionLifetime(60_000, 61_000)),
        (900, 60_000, SessionLifetime(0, 1_000)),
    ],
)
def test_session_lasts_as_long_as_the_shorter_limit(
    credential_expires_at_ms, reauthentication_ms_max, expected
):
    found = session_lifetime(1_000, credential_expires_at_ms, reauthentication_ms_max)
    assert found == expected


def test_authenticating_again_keeps_principal_and_mechanism():
    raise_if_identity_changed(ALICE, "PLAIN", ALICE, "PLAIN")
    with pytest.raises(PrincipalChanged, match="principal"):
        raise_if_identity_changed(ALICE, "PLAIN", BOB, "PLAIN")
    with pytest.raises(PrincipalChanged, match="mechanism"):
        raise_if_identity_changed(ALICE, "PLAIN", ALICE, "SCRAM-SHA-256")


def test_text_is_bounded_and_utf8():
    assert decode_text("ü".encode(), 2) == "ü"
    for message in (b"abc", b"\xff"):
        with pytest.raises(AuthenticationFailed):
            decode_text(message, 2)


def test_reason_for_the_log_is_bounded():
    assert len(invalid_credentials("PLAIN", "x" * 10_000).reason) == LOGGED_CHARACTERS_MAX

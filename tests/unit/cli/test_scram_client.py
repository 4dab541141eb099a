"""The client's side of SCRAM against the broker's."""

from __future__ import annotations

import pytest

from headrace.cli.scram_client import ScramClient
from headrace.model.errors import AuthenticationFailed
from headrace.security.scram_credential import ScramMechanism


def test_the_example_of_the_standard_gives_its_proof() -> None:
    """RFC 7677, section 3."""
    client = ScramClient(ScramMechanism.SCRAM_SHA_256, "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    assert client.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    challenge = (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    assert client.final(challenge) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    client.verify(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_names_are_escaped() -> None:
    client = ScramClient(ScramMechanism.SCRAM_SHA_512, "a=b,c", "x", "nonce")
    assert client.first() == b"n,,n=a=3Db=2Cc,r=nonce"


@pytest.mark.parametrize(
    "challenge",
    [
        b"r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        b"r=nonce,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        b"r=nonce+1,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=0",
        b"r=nonce+1,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=2000000000",
        b"e=invalid",
    ],
)
def test_challenge_of_somebody_else_is_refused(challenge: bytes) -> None:
    client = ScramClient(ScramMechanism.SCRAM_SHA_256, "user", "pencil", "nonce")
    with pytest.raises(AuthenticationFailed):
        client.final(challenge)


def test_broker_that_does_not_know_the_password_is_refused() -> None:
    client = ScramClient(ScramMechanism.SCRAM_SHA_256, "user", "pencil", "nonce")
    client.final(b"r=nonce+1,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
    with pytest.raises(AuthenticationFailed):
        client.verify(b"v=AAAA")

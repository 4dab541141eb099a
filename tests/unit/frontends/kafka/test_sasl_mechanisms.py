"""Where each way to log in finds its users."""

from __future__ import annotations

import pytest
from kafka.net.sasl.scram import ScramClient

from headrace.config.broker_security import SecuritySettings
from headrace.environment.real import RealChance
from headrace.frontends.kafka.sasl_mechanisms import SaslMechanisms
from headrace.model.errors import TokenRejected
from headrace.security.acl import Principal
from headrace.security.sasl import Accepted, Challenge, Refused
from headrace.security.sasl_oauthbearer import ValidToken
from headrace.security.scram_credential import ITERATIONS_MIN, ScramCredential, ScramMechanism

ALL = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
STORED = ScramCredential.from_password(
    ScramMechanism.SCRAM_SHA_512, "stored", b"salt", ITERATIONS_MIN
)


class Stored:
    """The metadata log: bob, by SHA-512 only."""

    def scram(self, user: str, mechanism: ScramMechanism) -> ScramCredential | None:
        is_bob = (user, mechanism) == ("bob", ScramMechanism.SCRAM_SHA_512)
        return STORED if is_bob else None


def validate(token: str, now_ms: int) -> ValidToken:
    if token != "good":
        raise TokenRejected("the token is not good")
    return ValidToken("carol", 5_000)


@pytest.fixture(scope="module")
def mechanisms() -> SaslMechanisms:
    settings = SecuritySettings(sasl_enabled_mechanisms=ALL, sasl_users="alice:given")
    return SaslMechanisms(settings, Stored(), RealChance(), validate)


def by_scram(mechanisms: SaslMechanisms, mechanism: str, name: str, password: str) -> object:
    client = ScramClient(name, password, mechanism)
    conversation = mechanisms.conversation(mechanism)
    challenge = conversation.receive(client.first_message(), 0)
    assert isinstance(challenge, Challenge)
    client.process_server_first_message(challenge.answer)
    return conversation.receive(client.final_message(), 0)


@pytest.mark.parametrize(
    ("mechanism", "name", "password"),
    [
        ("SCRAM-SHA-256", "alice", "given"),
        ("SCRAM-SHA-512", "alice", "given"),
        ("SCRAM-SHA-512", "bob", "stored"),
    ],
)
def test_given_and_stored_users_log_in_by_scram(
    mechanisms: SaslMechanisms, mechanism: str, name: str, password: str
) -> None:
    outcome = by_scram(mechanisms, mechanism, name, password)
    assert isinstance(outcome, Accepted)
    assert outcome.principal == Principal.user(name)
    assert isinstance(by_scram(mechanisms, mechanism, name, "wrong"), Refused)


def test_user_of_another_mechanism_is_unknown(mechanisms: SaslMechanisms) -> None:
    assert isinstance(by_scram(mechanisms, "SCRAM-SHA-256", "bob", "stored"), Refused)


@pytest.mark.parametrize(("name", "password"), [("alice", "given"), ("bob", "stored")])
def test_passwords_of_both_are_accepted_in_plain(
    mechanisms: SaslMechanisms, name: str, password: str
) -> None:
    def outcome(given: str) -> object:
        return mechanisms.conversation("PLAIN").receive(f"\0{name}\0{given}".encode(), 0)

    assert isinstance(outcome(password), Accepted)
    assert isinstance(outcome("wrong"), Refused)


def test_unknown_user_is_refused_in_the_same_words(mechanisms: SaslMechanisms) -> None:
    known = mechanisms.conversation("PLAIN").receive(b"\0alice\0wrong", 0)
    unknown = mechanisms.conversation("PLAIN").receive(b"\0nobody\0wrong", 0)
    assert isinstance(known, Refused)
    assert isinstance(unknown, Refused)
    assert (known.answer, known.message) == (unknown.answer, unknown.message)


def test_token_is_given_to_the_validator(mechanisms: SaslMechanisms) -> None:
    outcome = mechanisms.conversation("OAUTHBEARER").receive(b"n,,\x01auth=Bearer good\x01\x01", 0)
    assert isinstance(outcome, Accepted)
    assert (outcome.principal.name, outcome.credential_expires_at_ms) == ("carol", 5_000)


def test_only_plain_is_slow(mechanisms: SaslMechanisms) -> None:
    assert [name for name in ALL if mechanisms.is_slow(name)] == ["PLAIN"]


def test_no_two_conversations_share_a_nonce(mechanisms: SaslMechanisms) -> None:
    client = ScramClient("alice", "given", "SCRAM-SHA-256")
    answers = {
        mechanisms.conversation("SCRAM-SHA-256").receive(client.first_message(), 0).answer
        for _ in range(5)
    }
    assert len(answers) == 5

import base64
import hashlib

import pytest
from aiokafka.conn import ScramAuthenticator
from hypothesis import given
from hypothesis import strategies as st
from kafka.net.sasl.scram import ScramClient

from headrace.security.acl import Principal
from headrace.security.sasl import Accepted, Challenge, Refused
from headrace.security.sasl_scram import ScramConversation
from headrace.security.scram_credential import (
    ITERATIONS_MIN,
    FakeCredentials,
    ScramCredential,
    ScramMechanism,
)

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
# RFC 7677, section 3
SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
SERVER_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
CLIENT_FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
NAMES = ("user", "a=b,c", "jürgen")


def stored(mechanism):
    return {
        name: ScramCredential.from_password(mechanism, "pencil", SALT, ITERATIONS_MIN)
        for name in NAMES
    }


STORED = {mechanism: stored(mechanism) for mechanism in ScramMechanism}


def conversation(mechanism=SHA_256):
    fakes = FakeCredentials(b"a secret of the server", salt_bytes=len(SALT))
    return ScramConversation(mechanism, STORED[mechanism].get, fakes, SERVER_NONCE)


def test_example_of_rfc_7677():
    scram = conversation()
    assert scram.receive(CLIENT_FIRST, 0) == Challenge(SERVER_FIRST)
    assert scram.receive(CLIENT_FINAL, 0) == Accepted(SERVER_FINAL, Principal.user("user"))
    assert isinstance(scram.receive(CLIENT_FINAL, 0), Refused)


@pytest.mark.parametrize("mechanism", ScramMechanism)
@pytest.mark.parametrize("name", ["user", "jürgen"])
def test_kafka_python_is_understood(mechanism, name):
    client = ScramClient(name, "pencil", mechanism.sasl_name)
    scram = conversation(mechanism)
    client.process_server_first_message(scram.receive(client.first_message(), 0).answer)
    outcome = scram.receive(client.final_message(), 0)
    assert isinstance(outcome, Accepted)
    client.process_server_final_message(outcome.answer)


def aiokafka_client(name, password, mechanism):
    return ScramAuthenticator(
        loop=None,
        sasl_plain_username=name,
        sasl_plain_password=password,
        sasl_mechanism=mechanism.sasl_name,
    )


@pytest.mark.parametrize("mechanism", ScramMechanism)
@pytest.mark.parametrize("name", NAMES)
def test_aiokafka_is_understood(mechanism, name):
    client = aiokafka_client(name, "pencil", mechanism)
    scram = conversation(mechanism)
    challenge = scram.receive(client.first_message().encode(), 0)
    client.process_server_first_message(challenge.answer.decode())
    outcome = scram.receive(client.final_message().encode(), 0)
    assert outcome.principal == Principal.user(name)
    client.process_server_final_message(outcome.answer.decode())


def refused_after_challenge(name, password, mechanism=SHA_256):
    client = aiokafka_client(name, password, mechanism)
    scram = conversation(mechanism)
    challenge = scram.receive(client.first_message().encode(), 0)
    client.process_server_first_message(challenge.answer.decode())
    return challenge.answer, scram.receive(client.final_message().encode(), 0)


def test_unknown_user_looks_like_a_wrong_password():
    known_challenge, known = refused_after_challenge("user", "wrong")
    unknown_challenge, unknown = refused_after_challenge("nobody", "pencil")
    assert isinstance(known, Refused)
    assert (known.answer, known.message) == (unknown.answer, unknown.message)
    assert len(known_challenge) == len(unknown_challenge)
    again, _ = refused_after_challenge("nobody", "pencil")
    salt = unknown_challenge.split(b",s=")[1]
    assert again.split(b",s=")[1] == salt != known_challenge.split(b",s=")[1]


class GuessedFakes:
    """As if somebody knew the server's secret: a fake credential whose proof they can make."""

    def of(self, mechanism, name):
        return STORED[mechanism]["user"]


def test_unknown_user_is_refused_even_with_a_proof_that_fits_the_fake():
    scram = ScramConversation(SHA_256, {}.get, GuessedFakes(), SERVER_NONCE)
    assert scram.receive(CLIENT_FIRST, 0) == Challenge(SERVER_FIRST)
    assert isinstance(scram.receive(CLIENT_FINAL, 0), Refused)


@pytest.mark.parametrize(
    ("first", "error"),
    [
        (b"p=tls-unique,,n=user,r=abc", b"e=channel-binding-not-supported"),
        (b"n,,n=user,r=abc,tokenauth=true", b"e=extensions-not-supported"),
        (b"garbage", b"e=invalid-encoding"),
    ],
)
def test_first_message_that_cannot_be_served_ends_the_conversation(first, error):
    scram = conversation()
    refused = scram.receive(first, 0)
    assert isinstance(refused, Refused)
    assert refused.answer == error
    assert isinstance(scram.receive(CLIENT_FIRST, 0), Refused)


@pytest.mark.parametrize(
    "final",
    [
        CLIENT_FINAL.replace(b"biws", b"eSws"),
        CLIENT_FINAL.replace(b"%hv", b"%hw"),
        CLIENT_FINAL.replace(b"dHzb", b"dHzc"),
        CLIENT_FINAL.replace(b",p=", b",x=1,p="),
        CLIENT_FINAL[: CLIENT_FINAL.index(b"p=")] + b"p=AAEC",
        b"",
    ],
)
def test_changed_final_message_is_refused(final):
    scram = conversation()
    scram.receive(CLIENT_FIRST, 0)
    assert isinstance(scram.receive(final, 0), Refused)


def test_other_nonce_is_refused_even_with_a_proof_that_fits():
    scram = conversation()
    scram.receive(CLIENT_FIRST, 0)
    without_proof = CLIENT_FINAL[: CLIENT_FINAL.index(b",p=")].replace(b"%hv", b"%hw")
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", SALT, ITERATIONS_MIN)
    client_key = SHA_256.hmac(salted, b"Client Key")
    signed = b",".join((CLIENT_FIRST.removeprefix(b"n,,"), SERVER_FIRST, without_proof))
    signature = SHA_256.hmac(SHA_256.hash(client_key), signed)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    refused = scram.receive(without_proof + b",p=" + base64.b64encode(proof), 0)
    assert isinstance(refused, Refused)
    assert refused.reason == "the nonce differs"


def test_header_changed_on_the_way_is_noticed():
    scram = conversation()
    scram.receive(b"y" + CLIENT_FIRST[1:], 0)
    assert isinstance(scram.receive(CLIENT_FINAL, 0), Refused)


@given(st.lists(st.binary(max_size=60) | st.sampled_from([CLIENT_FIRST, CLIENT_FINAL]), max_size=4))
def test_no_message_raises_and_only_the_right_order_is_accepted(messages):
    scram = conversation()
    outcomes = [scram.receive(message, 0) for message in messages]
    accepted = any(isinstance(outcome, Accepted) for outcome in outcomes)
    assert accepted is (messages[:2] == [CLIENT_FIRST, CLIENT_FINAL])

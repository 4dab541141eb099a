import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.net.sasl.oauth import AbstractTokenProvider, SaslMechanismOAuth

from headrace.model.errors import AuthenticationFailed, InsufficientScope, TokenRejected
from headrace.security.acl import Principal
from headrace.security.sasl import Accepted, Challenge, Refused
from headrace.security.sasl_oauthbearer import (
    MESSAGE_BYTES_MAX,
    OAuthBearerConversation,
    ValidToken,
    parse_bearer_message,
)

# RFC 7628, section 4.1, with its authorization id
RFC_MESSAGE = (
    b"n,a=user@example.com,\x01host=server.example.com\x01port=143\x01"
    b"auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\x01\x01"
)


def validate(token, now_ms):
    if token == "scopeless":
        raise InsufficientScope("no scope")
    if token != "good":
        raise TokenRejected("forged")
    return ValidToken("alice", now_ms + 1_000)


class Provider(AbstractTokenProvider):
    def token(self):
        return "good"

    def extensions(self):
        return {"logicalCluster": "lkc-1"}


def test_message_of_the_rfc_is_understood():
    message = parse_bearer_message(RFC_MESSAGE)
    assert message.authorization_id == "user@example.com"
    assert message.token == "vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg=="
    assert message.extensions == {"host": "server.example.com", "port": "143"}
    assert message.token not in repr(message)


def test_kafka_python_is_understood_with_its_extensions():
    client = SaslMechanismOAuth(sasl_oauth_token_provider=Provider())
    outcome = OAuthBearerConversation(validate).receive(client.auth_bytes(), 5_000)
    assert outcome == Accepted(b"", Principal.user("alice"), 6_000, {"logicalCluster": "lkc-1"})


@pytest.mark.parametrize(
    ("token", "status"), [(b"bad", "invalid_token"), (b"scopeless", "insufficient_scope")]
)
@pytest.mark.parametrize("answer", [b"\x01", b"", b"n,,\x01auth=Bearer good\x01\x01"])
def test_rejected_token_is_challenged_then_refused_whatever_comes(token, status, answer):
    conversation = OAuthBearerConversation(validate, required_scope="kafka")
    challenge = conversation.receive(b"n,,\x01auth=Bearer " + token + b"\x01\x01", 0)
    assert isinstance(challenge, Challenge)
    assert json.loads(challenge.answer) == {"status": status, "scope": "kafka"}
    assert isinstance(conversation.receive(answer, 0), Refused)
    assert isinstance(conversation.receive(answer, 0), Refused)


def test_other_authorization_id_is_refused():
    conversation = OAuthBearerConversation(validate)
    assert isinstance(conversation.receive(b"n,a=bob,\x01auth=Bearer good\x01\x01", 0), Refused)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"n,,\x01\x01",
        b"n,,\x01auth=Bearer good\x01",
        b"n,,auth=Bearer good\x01\x01",
        b"p=x,,\x01auth=Bearer good\x01\x01",
        b"n,b=x,\x01auth=Bearer good\x01\x01",
        b"n,a=x=y,\x01auth=Bearer good\x01\x01",
        b"n,,\x01auth=Basic good\x01\x01",
        b"n,,\x01auth=Bearer \x01\x01",
        b"n,,\x01auth=Bearer good\x01auth=Bearer good\x01\x01",
        b"n,,\x01auth=Bearer good\x01k1=v\x01\x01",
        b"n,,\x01auth=Bearer good\x01k=\x01\x01",
        b"n,,\x01auth=Bearer good" + b"\x01k=v" * 100 + b"\x01\x01",
        b"n,,\x01auth=Bearer " + b"x" * MESSAGE_BYTES_MAX + b"\x01\x01",
        b"n,,\x01auth=Bearer \xff\x01\x01",
    ],
)
def test_malformed_message_is_refused_at_once(message):
    with pytest.raises(AuthenticationFailed):
        parse_bearer_message(message)
    assert isinstance(OAuthBearerConversation(validate).receive(message, 0), Refused)


@given(st.binary(max_size=80) | st.text("n,a=\x01uthBer gods", max_size=60).map(str.encode))
def test_no_message_raises(message):
    outcome = OAuthBearerConversation(validate).receive(message, 0)
    assert isinstance(outcome, Accepted | Challenge | Refused)

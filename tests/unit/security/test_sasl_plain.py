import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.security.acl import Principal
from headrace.security.sasl import Accepted, Refused
from headrace.security.sasl_plain import MESSAGE_BYTES_MAX, PlainConversation

PASSWORDS = {"tim": "tanstaaftanstaaf", "jürgen": "ß"}


def conversation():
    return PlainConversation(lambda name, password: PASSWORDS.get(name) == password)


@pytest.mark.parametrize(
    ("message", "name"),
    [
        # RFC 4616, section 4
        (b"\0tim\0tanstaaftanstaaf", "tim"),
        (b"tim\0tim\0tanstaaftanstaaf", "tim"),
        ("\0jürgen\0ß".encode(), "jürgen"),
    ],
)
def test_right_password_is_accepted(message, name):
    assert conversation().receive(message, 0) == Accepted(b"", Principal.user(name))


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"tim\0tanstaaftanstaaf",
        b"\0tim\0tanstaaftanstaaf\0",
        b"\0tim\0wrong",
        b"\0nobody\0tanstaaftanstaaf",
        b"\0\0tanstaaftanstaaf",
        b"\0tim\0",
        b"\0tim\0\xff",
        b"\0tim\0" + b"x" * MESSAGE_BYTES_MAX,
    ],
)
def test_all_else_is_refused_with_one_and_the_same_answer(message):
    refused = conversation().receive(message, 0)
    assert isinstance(refused, Refused)
    wrong = conversation().receive(b"\0tim\0wrong", 0)
    assert (refused.answer, refused.message) == (wrong.answer, wrong.message)
    assert "tanstaaf" not in refused.reason


def test_other_authorization_id_is_refused_even_with_the_password():
    outcome = conversation().receive(b"admin\0tim\0tanstaaftanstaaf", 0)
    assert isinstance(outcome, Refused)
    assert "authorization id" in outcome.message


def test_other_authorization_id_tells_nothing_without_the_password():
    outcome = conversation().receive(b"admin\0tim\0wrong", 0)
    assert outcome.message == conversation().receive(b"\0nobody\0x", 0).message


def test_conversation_ends_after_one_message():
    plain = conversation()
    plain.receive(b"\0tim\0wrong", 0)
    assert isinstance(plain.receive(b"\0tim\0tanstaaftanstaaf", 0), Refused)


@given(st.binary(max_size=100))
def test_no_message_raises(message):
    assert isinstance(conversation().receive(message, 0), Refused | Accepted)

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.model.errors import AuthenticationFailed
from headrace.security.scram_messages import (
    MESSAGE_BYTES_MAX,
    NONCE_CHARACTERS_MAX,
    ChannelBindingRefused,
    parse_client_final,
    parse_client_first,
)


def test_first_message_is_taken_apart():
    first = parse_client_first(b"y,a=a=2Cb,n=a=3Db=2Cc,r=nonce,tokenauth=true,x=1=2")
    assert first.gs2_header == "y,a=a=2Cb,"
    assert first.authorization_id == "a,b"
    assert first.name == "a=b,c"
    assert first.nonce == "nonce"
    assert first.extensions == {"tokenauth": "true", "x": "1=2"}
    assert first.bare == "n=a=3Db=2Cc,r=nonce,tokenauth=true,x=1=2"


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n,,",
        b"n,,n=user",
        b"n,,r=nonce,n=user",
        b"n,,n=user,r=",
        b"n,,n=,r=nonce",
        b"n,,n=us=er,r=nonce",
        b"n,,n=us=2c,r=nonce",
        b"n,,n=us\0er,r=nonce",
        b"n,,n=user,r=non\x07ce",
        b"n,,n=user,r=" + b"x" * (NONCE_CHARACTERS_MAX + 1),
        b"n,,m=must,n=user,r=nonce",
        b"n,b=x,n=user,r=nonce",
        b"x,,n=user,r=nonce",
        b"n,,n=user,r=nonce,=1",
        b"n,,n=user,r=nonce,x=1,x=2",
        b"n,,n=user,r=nonce," + b",".join(b"%c=1" % i for i in range(65, 90)),
        b"n,,n=\xff,r=nonce",
        b"n,,n=user,r=nonce,x=" + b"x" * MESSAGE_BYTES_MAX,
    ],
)
def test_malformed_first_message_is_refused(message):
    with pytest.raises(AuthenticationFailed):
        parse_client_first(message)


def test_demand_for_channel_binding_has_its_own_error():
    with pytest.raises(ChannelBindingRefused):
        parse_client_first(b"p=tls-unique,,n=user,r=nonce")


def test_final_message_is_taken_apart():
    final = parse_client_final(b"c=biws,r=nonce,x=1,p=AAEC")
    assert final.channel_binding == b"n,,"
    assert (final.nonce, final.proof) == ("nonce", b"\0\1\2")
    assert final.without_proof == "c=biws,r=nonce,x=1"


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"c=biws,r=nonce",
        b"c=biws,p=AAEC",
        b"r=nonce,c=biws,p=AAEC",
        b"c=biws,r=nonce,p=A",
        b"c=bi ws,r=nonce,p=AAEC",
        b"c=biws,r=nonce,p=\xc3\xbc",
        b"c=biws,r=nonce,p=AAEC,x=1",
    ],
)
def test_malformed_final_message_is_refused(message):
    with pytest.raises(AuthenticationFailed):
        parse_client_final(message)


MESSAGES = st.binary(max_size=80) | st.text("nyp=,abcr2CD3xAQ\0ü", max_size=60).map(str.encode)


@given(MESSAGES)
@example(b"c=,r=a,p=")
def test_any_bytes_give_one_message_at_most_or_the_named_error(message):
    parsed = 0
    for parse in (parse_client_first, parse_client_final):
        with contextlib.suppress(AuthenticationFailed):
            parse(message)
            parsed += 1
    assert parsed < 2

"""Access rules and SCRAM credentials as Kafka's records have them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.coordination.metadata.record_codec import decode, encode
from headrace.coordination.metadata.records import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from headrace.model.errors import CorruptRecord, UnsupportedVersion
from headrace.security.acl_entries import AclEntry

RULE_ID = bytes.fromhex("aaa21ea5dca34f4e84916ec5d7d8ade5")
RULE = AclEntry(RULE_ID, 2, "orders", 4, "User:alice", "*", 3, 3)

FRAMES = [
    (
        "011200" + RULE_ID.hex() + "02076f726465727304" + "0b557365723a616c696365" + "022a030300",
        AccessControlEntryRecord(RULE),
    ),
    ("011300" + RULE_ID.hex() + "00", RemoveAccessControlEntryRecord(RULE_ID)),
    (
        "010b0006616c69636502" + "0373610373620373630000100000",
        UserScramCredentialRecord("alice", 2, b"sa", b"sb", b"sc", 4096),
    ),
    ("01160006616c6963650100", RemoveUserScramCredentialRecord("alice", 1)),
]
"""Field by field as Kafka's schemas of these records say."""


@pytest.mark.parametrize(("frame", "record"), FRAMES)
def test_frame_is_that_of_kafka(frame: str, record: Any) -> None:
    assert decode(bytes.fromhex(frame)) == record
    assert encode(record).hex() == frame


def test_version_from_the_future_is_refused() -> None:
    with pytest.raises(UnsupportedVersion, match="ACCESS_CONTROL_ENTRY in version 1"):
        decode(b"\x01\x12\x01" + RULE_ID)


def test_cut_frame_is_refused() -> None:
    with pytest.raises(CorruptRecord):
        decode(encode(AccessControlEntryRecord(RULE))[:-3])


small = st.integers(-128, 127)
uuids = st.binary(min_size=16, max_size=16)
records = st.one_of(
    st.builds(
        AccessControlEntryRecord,
        st.builds(AclEntry, uuids, small, st.text(), small, st.text(), st.text(), small, small),
    ),
    st.builds(
        UserScramCredentialRecord,
        st.text(),
        small,
        st.binary(),
        st.binary(),
        st.binary(),
        st.integers(-(2**31), 2**31 - 1),
    ),
    st.builds(RemoveUserScramCredentialRecord, st.text(), small),
)


@given(records)
def test_what_is_encoded_is_decoded_also_what_we_could_not_enforce(record: Any) -> None:
    assert decode(encode(record)) == record


def test_secrets_are_not_shown() -> None:
    shown = repr(UserScramCredentialRecord("alice", 2, b"SALT", b"STORED", b"SERVER", 4096))
    assert "alice" in shown
    assert not any(secret in shown for secret in ("SALT", "STORED", "SERVER"))

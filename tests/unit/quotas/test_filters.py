"""Which quotas somebody wants to see."""

from __future__ import annotations

import pytest

from headrace.model.errors import InvalidRequest, UnsupportedVersion
from headrace.quotas.entities import DEFAULT, QuotaEntity
from headrace.quotas.filters import ANY, filter_of

ALICE = QuotaEntity("alice")
ALICE_APP = QuotaEntity("alice", "app")
ALICE_ANY_APP = QuotaEntity("alice", DEFAULT)
ANYBODY = QuotaEntity(DEFAULT)
APP = QuotaEntity(client_id="app")
HOST = QuotaEntity(ip="10.0.0.1")
ALL = [ALICE, ALICE_APP, ALICE_ANY_APP, ANYBODY, APP, HOST]


@pytest.mark.parametrize(
    ("parts", "is_strict", "expected"),
    [
        ([], False, ALL),
        ([], True, []),
        ([("user", "alice")], False, [ALICE, ALICE_APP, ALICE_ANY_APP]),
        ([("user", "alice")], True, [ALICE]),
        ([("user", DEFAULT)], False, [ANYBODY]),
        ([("user", ANY)], False, [ALICE, ALICE_APP, ALICE_ANY_APP, ANYBODY]),
        ([("user", ANY)], True, [ALICE, ANYBODY]),
        ([("user", "alice"), ("client-id", DEFAULT)], True, [ALICE_ANY_APP]),
        ([("user", ANY), ("client-id", ANY)], False, [ALICE_APP, ALICE_ANY_APP]),
        ([("client-id", "app")], False, [ALICE_APP, APP]),
        ([("client-id", "app")], True, [APP]),
        ([("ip", ANY)], True, [HOST]),
        ([("user", "nobody")], False, []),
    ],
)
def test_filter_finds_what_it_names(parts, is_strict, expected):
    wanted = filter_of(parts, is_strict=is_strict)
    assert [entity for entity in ALL if wanted.matches(entity)] == expected


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ([("", "x")], InvalidRequest),
        ([("user", "a"), ("user", "b")], InvalidRequest),
        ([("user", "a"), ("ip", "10.0.0.1")], InvalidRequest),
        ([("ip", ANY), ("client-id", DEFAULT)], InvalidRequest),
        ([("group", "g")], UnsupportedVersion),
    ],
)
def test_filter_that_makes_no_sense_is_refused(parts, error):
    with pytest.raises(error):
        filter_of(parts, is_strict=False)

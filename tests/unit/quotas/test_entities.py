"""Whom a quota is for."""

from __future__ import annotations

import pytest

from headrace.model.errors import InvalidRequest
from headrace.quotas.entities import DEFAULT, QuotaEntity, canonical_address, entity_of


def test_parts_come_back_by_the_names_of_the_protocol():
    parts = {"user": "alice", "client-id": DEFAULT}
    entity = entity_of(parts)
    assert entity == QuotaEntity("alice", DEFAULT)
    assert entity.parts() == parts


@pytest.mark.parametrize("address", ["10.0.0.1", "::1", "2001:db8::1", DEFAULT])
def test_addresses_and_their_default_are_entities(address):
    assert entity_of({"ip": address}) == QuotaEntity(ip=address)


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"group": "g"},
        {"user": ""},
        {"user": "x" * 1_001},
        {"ip": "127.0.0.1", "user": "alice"},
        {"ip": DEFAULT, "client-id": DEFAULT},
        {"ip": "example.org"},
        {"ip": "10.0.0.0/8"},
        {"ip": "10.0.0.256"},
    ],
)
def test_there_is_no_such_entity(parts):
    with pytest.raises(InvalidRequest):
        entity_of(parts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:DB8:0:0::1", "2001:db8::1"),
        ("localhost", None),
    ],
)
def test_an_address_has_one_spelling(text, expected):
    assert canonical_address(text) == expected

"""Whom a quota is for."""

from __future__ import annotations

import pytest

from headrace.model.errors import InvalidRequest
from headrace.quotas.entities import DEFAULT, QuotaEntity, entity_of


def test_parts_come_back_by_the_names_of_the_protocol():
    parts = {"user": "alice", "client-id": DEFAULT}
    entity = entity_of(parts)
    assert entity == QuotaEntity("alice", DEFAULT)
    assert entity.parts() == parts


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"group": "g"},
        {"user": ""},
        {"user": "x" * 1_001},
        {"ip": "127.0.0.1", "user": "alice"},
    ],
)
def test_there_is_no_such_entity(parts):
    with pytest.raises(InvalidRequest):
        entity_of(parts)

"""Which quota holds for a client."""

from __future__ import annotations

import pytest

from headrace.model.errors import InvalidRequest
from headrace.quotas.entities import DEFAULT, QuotaEntity
from headrace.quotas.limits import Limit, QuotaLimits

PRODUCE = "producer_byte_rate"
BOTH = QuotaEntity("alice", "app")
ALICE = QuotaEntity("alice")
APP = QuotaEntity(client_id="app")
IN_ORDER = [
    (QuotaEntity("alice", "app"), BOTH),
    (QuotaEntity("alice", DEFAULT), BOTH),
    (QuotaEntity("alice"), ALICE),
    (QuotaEntity(DEFAULT, "app"), BOTH),
    (QuotaEntity(DEFAULT, DEFAULT), BOTH),
    (QuotaEntity(DEFAULT), ALICE),
    (QuotaEntity(client_id="app"), APP),
    (QuotaEntity(client_id=DEFAULT), APP),
]


def test_without_quotas_there_is_no_limit():
    assert QuotaLimits().of_client(PRODUCE, "alice", "app") is None


def test_the_most_specific_quota_wins_and_the_next_takes_its_place():
    limits = QuotaLimits()
    for number, (entity, _) in enumerate(IN_ORDER):
        limits.set(entity, PRODUCE, 100 + number)
    for number, (entity, account) in enumerate(IN_ORDER):
        assert limits.of_client(PRODUCE, "alice", "app") == Limit(100 + number, account)
        limits.set(entity, PRODUCE, None)
    assert limits.of_client(PRODUCE, "alice", "app") is None
    assert len(limits) == 0


def test_others_are_not_concerned():
    limits = QuotaLimits()
    limits.set(ALICE, PRODUCE, 100)
    assert limits.of_client(PRODUCE, "bob", "app") is None
    assert limits.of_client("consumer_byte_rate", "alice", "app") is None


def test_each_one_has_a_default_to_itself():
    limits = QuotaLimits()
    limits.set(QuotaEntity(DEFAULT), PRODUCE, 100)
    accounts = {limits.of_client(PRODUCE, user, "app").account for user in ("alice", "bob")}
    assert accounts == {QuotaEntity("alice"), QuotaEntity("bob")}


def test_addresses_have_their_own():
    limits = QuotaLimits()
    limits.set(QuotaEntity(ip=DEFAULT), "connection_creation_rate", 5)
    limits.set(QuotaEntity(ip="10.0.0.1"), "connection_creation_rate", 7)
    assert limits.of_address("10.0.0.1") == Limit(7, QuotaEntity(ip="10.0.0.1"))
    assert limits.of_address("10.0.0.2") == Limit(5, QuotaEntity(ip="10.0.0.2"))


@pytest.mark.parametrize(
    ("entity", "name", "value"),
    [
        (ALICE, PRODUCE, 0),
        (ALICE, PRODUCE, -1),
        (ALICE, PRODUCE, 1.5),
        (ALICE, "request_percentage", float("nan")),
        (ALICE, "request_percentage", float("inf")),
        (ALICE, "connection_creation_rate", 5),
        (ALICE, "no_such_quota", 5),
        (QuotaEntity(ip="10.0.0.1"), PRODUCE, 5),
    ],
)
def test_wrong_quotas_are_refused_and_change_nothing(entity, name, value):
    limits = QuotaLimits()
    with pytest.raises(InvalidRequest):
        limits.set(entity, name, value)
    assert len(limits) == 0

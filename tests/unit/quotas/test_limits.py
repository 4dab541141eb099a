"""Which quota holds for a client."""

from __future__ import annotations

import pytest

from headrace.model.errors import InvalidRequest
from headrace.quotas import limits as module
from headrace.quotas.entities import DEFAULT, QuotaEntity
from headrace.quotas.limits import Limit, QuotaLimits, raise_if_invalid

PRODUCE, CONNECT = "producer_byte_rate", "connection_creation_rate"
BOTH = QuotaEntity("alice", "app")
ALICE = QuotaEntity("alice")
APP = QuotaEntity(client_id="app")
HOST = QuotaEntity(ip="10.0.0.1")
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
    assert QuotaLimits().of_address("10.0.0.1") is None


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
    assert limits.of_address("10.0.0.1") is None


def test_each_one_has_a_default_to_itself():
    limits = QuotaLimits()
    limits.set(QuotaEntity(DEFAULT), PRODUCE, 100)
    accounts = {limits.of_client(PRODUCE, user, "app").account for user in ("alice", "bob")}
    assert accounts == {QuotaEntity("alice"), QuotaEntity("bob")}


def test_addresses_have_their_own():
    limits = QuotaLimits()
    limits.set(QuotaEntity(ip=DEFAULT), CONNECT, 5)
    limits.set(HOST, CONNECT, 7)
    assert limits.of_address("10.0.0.1") == Limit(7, HOST)
    assert limits.of_address("10.0.0.2") == Limit(5, QuotaEntity(ip="10.0.0.2"))
    limits.set(HOST, CONNECT, None)
    assert limits.of_address("10.0.0.1") == Limit(5, HOST)


def test_an_address_is_known_in_every_spelling():
    limits = QuotaLimits()
    limits.set(QuotaEntity(ip="2001:DB8:0:0::1"), CONNECT, 7)
    limits.set(HOST, CONNECT, 8)
    assert limits.of_address("2001:db8::1") == Limit(7, QuotaEntity(ip="2001:db8::1"))
    assert limits.of_address("::ffff:10.0.0.1") == Limit(8, HOST)


def test_taking_away_what_is_not_there_changes_nothing():
    limits = QuotaLimits()
    limits.set(ALICE, PRODUCE, 100)
    limits.set(ALICE, "consumer_byte_rate", None)
    limits.set(APP, PRODUCE, None)
    assert list(limits) == [(ALICE, {PRODUCE: 100})]
    assert limits.of_entity(ALICE) == {PRODUCE: 100}
    assert limits.of_entity(APP) == {}


def test_a_zero_that_an_older_broker_wrote_limits_nobody():
    limits = QuotaLimits()
    limits.set(ALICE, PRODUCE, 0.0)
    assert limits.of_client(PRODUCE, "alice", "app") is None


def test_what_is_remembered_of_clients_has_a_limit(monkeypatch):
    monkeypatch.setattr(module, "RESOLVED_MAX", 10)
    limits = QuotaLimits()
    limits.set(QuotaEntity(client_id=DEFAULT), PRODUCE, 100)
    for number in range(100):
        limits.of_client(PRODUCE, "alice", f"app-{number}")
        limits.of_address(f"10.0.0.{number}")
    assert len(limits._resolved) <= 10


@pytest.mark.parametrize(
    ("entity", "name", "value"),
    [
        (ALICE, PRODUCE, 0),
        (ALICE, PRODUCE, -1),
        (ALICE, PRODUCE, 1.5),
        (ALICE, PRODUCE, 1e30),
        (ALICE, "request_percentage", 0),
        (ALICE, "request_percentage", float("nan")),
        (ALICE, "request_percentage", float("inf")),
        (ALICE, CONNECT, 5),
        (ALICE, "no_such_quota", 5),
        (HOST, PRODUCE, 5),
        (HOST, CONNECT, 0),
        (HOST, CONNECT, 2.0**31),
    ],
)
def test_wrong_quotas_are_refused(entity, name, value):
    with pytest.raises(InvalidRequest):
        raise_if_invalid(entity, name, value)


@pytest.mark.parametrize(
    ("entity", "name", "value"),
    [
        (ALICE, PRODUCE, 1),
        (APP, "request_percentage", 0.5),
        (BOTH, "controller_mutation_rate", 0.1),
        (HOST, CONNECT, 2**31 - 1),
    ],
)
def test_legal_quotas_are_not_refused(entity, name, value):
    raise_if_invalid(entity, name, value)

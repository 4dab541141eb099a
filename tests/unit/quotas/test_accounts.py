"""Accounts are kept while something is on them, and never too many."""

from __future__ import annotations

from headrace.quotas.accounts import Accounts
from headrace.quotas.entities import QuotaEntity
from headrace.quotas.rates import Rate


def owner(number: int) -> QuotaEntity:
    return QuotaEntity(f"user-{number}")


def test_an_account_is_the_same_each_time():
    accounts = Accounts(Rate)
    assert accounts.of(owner(1), 0) is accounts.of(owner(1), 0)
    assert accounts.of(owner(2), 0) is not accounts.of(owner(1), 0)


def test_idle_accounts_make_room_for_new_ones():
    accounts = Accounts(Rate)
    for number in range(100):
        accounts.of(owner(number), 0).record(1, 0)
    assert len(accounts) == 100
    for number in range(100, 200):
        accounts.of(owner(number), 20_000).record(1, 20_000)
    assert len(accounts) == 100
    assert accounts.of(owner(150), 20_000).total(20_000) == 1


def test_an_account_that_is_used_stays():
    accounts = Accounts(Rate)
    for second in range(100):
        now_ms = second * 1_000
        accounts.of(owner(0), now_ms).record(1, now_ms)
        accounts.of(owner(second + 1), now_ms).record(1, now_ms)
    assert accounts.of(owner(0), 99_000).total(99_000) == 11


def test_there_are_never_more_than_the_limit():
    accounts = Accounts(Rate, accounts_max=10)
    for number in range(1_000):
        accounts.of(owner(number), 0).record(1, 0)
        assert len(accounts) <= 10
    assert accounts.of(owner(999), 0).total(0) == 1


def test_all_are_forgotten_on_demand():
    accounts = Accounts(Rate)
    accounts.of(owner(1), 0)
    accounts.clear()
    assert len(accounts) == 0


def test_when_there_are_too_many_the_one_goes_that_was_not_used_for_longest():
    accounts = Accounts(Rate, accounts_max=3)
    for number in range(1, 10):
        accounts.of(owner(0), 0).record(1, 0)
        accounts.of(owner(number), 0).record(1, 0)
    assert accounts.of(owner(0), 0).total(0) == 9

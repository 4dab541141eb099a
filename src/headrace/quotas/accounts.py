"""The accounts that are counted on, a bounded number; those without a balance are forgotten.

An account comes into being with the first amount. Whoever invents new names all the time fills the
book: then the account that was not used for longest goes, although something was still on it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.quotas.entities import QuotaEntity

ACCOUNTS_MAX = 10_000
FORGET_AT_ONCE_MAX = 2
"""Idle accounts that one new account may push out: more than one, so that the book shrinks."""


class Account(Protocol):
    """What can be counted on."""

    def is_idle(self, now_ms: int) -> bool: ...


AnyAccount = TypeVar("AnyAccount", bound=Account)


class Accounts(Generic[AnyAccount]):
    """Accounts of one quota by whom they belong to; the least recently used first."""

    def __init__(
        self, open_account: Callable[[], AnyAccount], accounts_max: int = ACCOUNTS_MAX
    ) -> None:
        self._open = open_account
        self._accounts_max = accounts_max
        self._accounts: OrderedDict[QuotaEntity, AnyAccount] = OrderedDict()

    def __len__(self) -> int:
        return len(self._accounts)

    def of(self, owner: QuotaEntity, now_ms: int) -> AnyAccount:
        account = self._accounts.get(owner)
        if account is None:
            self._make_room(now_ms)
            account = self._accounts[owner] = self._open()
        else:
            self._accounts.move_to_end(owner)
        return account

    def clear(self) -> None:
        self._accounts.clear()

    def _make_room(self, now_ms: int) -> None:
        for _ in range(FORGET_AT_ONCE_MAX):
            if not self._accounts:
                return
            owner, oldest = next(iter(self._accounts.items()))
            if len(self._accounts) < self._accounts_max and not oldest.is_idle(now_ms):
                return
            del self._accounts[owner]

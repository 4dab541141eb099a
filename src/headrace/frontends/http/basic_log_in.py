"""HTTP Basic (RFC 7617): who sends a request, by the name and the password in its header.

Every request carries the password, and to check one is slow on purpose. So what was right is
remembered, by a keyed digest, for as long as the user's credential stays the same. What is wrong
always costs the same time, a few checks run at once, and the refusal comes late.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import logging
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from headrace.frontends.common.warning_limit import WarningLimit
from headrace.security.acl import Principal
from headrace.security.scram_credential import ScramMechanism

if TYPE_CHECKING:
    from headrace.environment.ports import Chance, Clock
    from headrace.frontends.common.known_users import KnownUsers
    from headrace.security.scram_credential import ScramCredential

log = logging.getLogger(__name__)

HEADER_BYTES_MAX = 4_096
CHECKS_AT_ONCE_MAX = 2
REMEMBERED_MAX = 1_000
SECRET_BYTES = 32
_SCHEME = b"basic"


class Given(NamedTuple):
    """What a header claims."""

    name: str
    password: str

    def __repr__(self) -> str:
        return f"Given(name={self.name!r})"


class BasicLogIn:
    """Checks the headers of one listener."""

    def __init__(
        self, users: KnownUsers, clock: Clock, chance: Chance, failure_delay_ms: int
    ) -> None:
        self._users = users
        self._clock = clock
        self._failure_delay_ms = failure_delay_ms
        self._secret = chance.random_bytes(SECRET_BYTES)
        self._remembered: OrderedDict[bytes, ScramCredential] = OrderedDict()
        self._turns = asyncio.Semaphore(CHECKS_AT_ONCE_MAX)
        self._warnings = WarningLimit()

    async def maybe_principal(self, header: bytes | None, host: str) -> Principal | None:
        """Who it is; None if that is not proven. Without a header that is told at once: clients
        ask without one to hear that they need one."""
        if header is None:
            return None
        given = maybe_given(header)
        if given is not None and await self._is_right(given):
            return Principal.user(given.name)
        self._warn(host)
        await asyncio.sleep(self._failure_delay_ms / 1000)
        return None

    async def _is_right(self, given: Given) -> bool:
        name, password = given
        known = self._users.find_any(name)
        digest = hmac.digest(self._secret, f"{name}\0{password}".encode(), "sha256")
        if known is not None and self._remembered.get(digest) == known:
            self._remembered.move_to_end(digest)
            return True
        credential = known or self._users.fakes.of(ScramMechanism.SCRAM_SHA_256, name)
        async with self._turns:
            is_right = await asyncio.to_thread(credential.is_password, password)
        if not is_right or known is None:
            return False
        self._remembered[digest] = known
        if len(self._remembered) > REMEMBERED_MAX:
            self._remembered.popitem(last=False)
        return True

    def _warn(self, host: str) -> None:
        """Not whose name it was: people type passwords into the wrong field."""
        left_out = self._warnings.maybe_count(host, self._clock.monotonic())
        if left_out is not None:
            more = f" ({left_out} more were left out)" if left_out else ""
            log.warning("http: wrong name or password from %s%s", host, more)


def maybe_given(header: bytes) -> Given | None:
    """Name and password of an ``Authorization`` header; None if it is of another kind or broken."""
    scheme, _, encoded = header.partition(b" ")
    if scheme.lower() != _SCHEME or len(header) > HEADER_BYTES_MAX:
        return None
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    name, _, password = text.partition(":")
    if not name or not password or "\0" in text:
        return None
    return Given(name, password)

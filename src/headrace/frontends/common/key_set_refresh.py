"""Keeps the keys of a token validator fresh: reads them in a thread, now and then and on demand.

A token that is refused may be signed by a key that is new: the keys are read again then, seldom
enough that nobody can make a game of it, and the client's next attempt finds them.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.model.errors import HeadraceError, TokenRejected
from headrace.security.key_set_source import is_file, raise_if_unsafe, read_key_set
from headrace.security.token_validation import KeySet, TokenValidator

if TYPE_CHECKING:
    import asyncio

    from headrace.security.sasl_oauthbearer import ValidToken
    from headrace.security.token_validation import TokenRules

log = logging.getLogger(__name__)

REFRESH_SECONDS_MIN = 10.0
"""Between two readings, whatever tokens come."""


class RefreshedTokens:
    """A token validator whose keys come from a URL."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        rules: TokenRules,
        url: str,
        refresh_seconds: float,
    ) -> None:
        """InvalidConfig for a URL that is not safe, or a file that has no keys: at the start a
        file must be right, a server may be late."""
        raise_if_unsafe(url)
        self._loop = loop
        self._url = url
        self._refresh_seconds = refresh_seconds
        self._validator = TokenValidator(rules, read_key_set(url) if is_file(url) else KeySet(()))
        self._timer: asyncio.TimerHandle | None = None
        self._reading: asyncio.Future[KeySet] | None = None
        self._read_at = loop.time() if is_file(url) else float("-inf")

    def start(self) -> None:
        if not is_file(self._url):
            self.refresh()
        self._plan()

    def validate(self, token: str, now_ms: int) -> ValidToken:
        """As ``TokenValidator.validate``; never waits."""
        try:
            return self._validator.validate(token, now_ms)
        except TokenRejected:
            if self._loop.time() - self._read_at > REFRESH_SECONDS_MIN:
                self.refresh()
            raise

    def refresh(self) -> None:
        """Read the keys beside the loop, unless that is under way."""
        if self._reading is None:
            self._read_at = self._loop.time()
            self._reading = self._loop.run_in_executor(None, read_key_set, self._url)
            self._reading.add_done_callback(self._done)

    def _done(self, reading: asyncio.Future[KeySet]) -> None:
        self._reading = None
        if reading.cancelled():
            return
        error = reading.exception()
        if error is None:
            self._validator.keys = reading.result()
            return
        reason = error.message if isinstance(error, HeadraceError) else repr(error)
        log.warning("the keys for tokens are not refreshed, the old ones stay: %s", reason)

    def _plan(self) -> None:
        self._timer = self._loop.call_later(self._refresh_seconds, self._on_time)

    def _on_time(self) -> None:
        self.refresh()
        self._plan()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._reading is not None:
            self._reading.cancel()

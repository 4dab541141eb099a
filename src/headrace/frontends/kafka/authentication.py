"""Where one connection stands on its way to a principal: the order of SASL's requests, no I/O.

A client chooses a mechanism (SaslHandshake), then sends tokens until it is accepted or refused:
inside of SaslAuthenticate requests, or bare after a handshake of version 0. Who is in may do it all
again on the same connection (KIP-368), but only as himself. ``_PERMITTED`` is the whole of what is
served meanwhile; whatever else comes ends the connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from headrace.model.errors import (
    AuthenticationFailed,
    HeadraceError,
    IllegalSaslState,
    PrincipalChanged,
    UnsupportedSaslMechanism,
)
from headrace.security.sasl import (
    Challenge,
    Refused,
    SessionLifetime,
    raise_if_identity_changed,
    session_lifetime,
)

if TYPE_CHECKING:
    from headrace.security.acl import Principal
    from headrace.security.sasl import Accepted, SaslConversation, SaslOutcome

SASL_HANDSHAKE_KEY = 17
API_VERSIONS_KEY = 18
SASL_AUTHENTICATE_KEY = 36

MECHANISM_SHOWN_CHARACTERS_MAX = 50


class Phase(Enum):
    """What is expected next."""

    HANDSHAKE = "the choice of a mechanism"
    TOKENS = "tokens in SaslAuthenticate"
    BARE_TOKENS = "tokens without a request around them"
    AUTHENTICATED = "anything"
    EXPIRED = "another authentication"
    FAILED = "nothing"


_PERMITTED: dict[Phase, frozenset[int]] = {
    Phase.HANDSHAKE: frozenset({API_VERSIONS_KEY, SASL_HANDSHAKE_KEY}),
    Phase.TOKENS: frozenset({SASL_AUTHENTICATE_KEY}),
    Phase.BARE_TOKENS: frozenset(),
    Phase.EXPIRED: frozenset({API_VERSIONS_KEY, SASL_HANDSHAKE_KEY}),
    Phase.FAILED: frozenset(),
}
_BEFORE_A_HANDSHAKE = (Phase.HANDSHAKE, Phase.AUTHENTICATED, Phase.EXPIRED)

FOR_EVER = SessionLifetime(0, None)


class Mechanisms(Protocol):
    """What a listener offers."""

    enabled: tuple[str, ...]

    def conversation(self, mechanism: str) -> SaslConversation:
        """A new conversation by an enabled mechanism."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a token led to. With ``error`` it is the end; with ``principal`` the peer is in."""

    answer: bytes = b""
    error: HeadraceError | None = None
    reason: str = ""
    """Of the error, for the log."""
    principal: Principal | None = None
    lifetime: SessionLifetime = FOR_EVER


class Authentication:
    """The state of one connection."""

    def __init__(self, mechanisms: Mechanisms, reauthentication_ms_max: int) -> None:
        self._mechanisms = mechanisms
        self._reauthentication_ms_max = reauthentication_ms_max
        self.phase = Phase.HANDSHAKE
        self.mechanism = ""
        """The one that was chosen last."""
        self._accepted: tuple[Principal, str] | None = None
        """Who is in, and by which mechanism."""
        self._conversation: SaslConversation | None = None

    def permits(self, api_key: int) -> bool:
        """Whether a request of this kind is served now."""
        return self.phase is Phase.AUTHENTICATED or api_key in _PERMITTED[self.phase]

    def choose(self, mechanism: str, version: int) -> None:
        """SaslHandshake: begin. Raises what the peer is to be told instead."""
        if self.phase not in _BEFORE_A_HANDSHAKE:
            raise IllegalSaslState("a mechanism has been chosen already")
        if version == 0 and self._accepted is not None:
            raise IllegalSaslState("to authenticate again takes SaslHandshake v1 or newer")
        if mechanism not in self._mechanisms.enabled:
            self.phase = Phase.FAILED
            shown = mechanism[:MECHANISM_SHOWN_CHARACTERS_MAX]
            raise UnsupportedSaslMechanism(f"the SASL mechanism {shown!r} is not enabled here")
        self.mechanism = mechanism
        self._conversation = self._mechanisms.conversation(mechanism)
        self.phase = Phase.BARE_TOKENS if version == 0 else Phase.TOKENS

    @property
    def conversation(self) -> SaslConversation:
        """Who the next token is for; IllegalSaslState if none is expected."""
        if self._conversation is None:
            raise IllegalSaslState("no token is expected: SaslHandshake comes first")
        return self._conversation

    def conclude(self, outcome: SaslOutcome, now_ms: int) -> Step:
        """Take what the conversation made of a token."""
        if isinstance(outcome, Challenge):
            return Step(outcome.answer)
        self._conversation = None
        if isinstance(outcome, Refused):
            self.phase = Phase.FAILED
            return Step(error=AuthenticationFailed(outcome.message), reason=outcome.reason)
        return self._admit(outcome, now_ms)

    def _admit(self, accepted: Accepted, now_ms: int) -> Step:
        try:
            if self._accepted is not None:
                raise_if_identity_changed(*self._accepted, accepted.principal, self.mechanism)
        except PrincipalChanged as error:
            self.phase = Phase.FAILED
            return Step(error=error, reason=error.message)
        self._accepted = (accepted.principal, self.mechanism)
        self.phase = Phase.AUTHENTICATED
        lifetime = session_lifetime(
            now_ms, accepted.credential_expires_at_ms, self._reauthentication_ms_max
        )
        return Step(accepted.answer, principal=accepted.principal, lifetime=lifetime)

    def expire(self) -> None:
        """The log-in has come to its end; whoever is about to renew it may finish."""
        if self.phase is Phase.AUTHENTICATED:
            self.phase = Phase.EXPIRED

"""What every SASL conversation looks like: a message in, an outcome out, nothing raised.

A conversation never sees a socket or a clock. It ends with ``Accepted`` or ``Refused``; ``Refused``
has one text for the peer, which never tells what exists, and one for the log, which never has a
secret in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from headrace.model.errors import AuthenticationFailed, PrincipalChanged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.security.acl import Principal

LOGGED_CHARACTERS_MAX = 200


@dataclass(frozen=True, slots=True)
class Challenge:
    """Send this; the conversation goes on."""

    answer: bytes


@dataclass(frozen=True, slots=True)
class Accepted:
    """Send this; the peer is who it says."""

    answer: bytes
    principal: Principal
    credential_expires_at_ms: int | None = None
    """When what the peer proved itself with ends (wall clock); None if it does not end."""
    extensions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refused:
    """Send this with the error, then close."""

    answer: bytes
    message: str
    """For the peer: the same for every failure that could tell what exists."""
    reason: str
    """For the log."""


SaslOutcome = Challenge | Accepted | Refused


class SaslConversation(Protocol):
    """One mechanism's server side, for one authentication of one connection."""

    def receive(self, message: bytes, now_ms: int) -> SaslOutcome:
        """The outcome of the peer's next message; never raises for what a peer can send."""


def invalid_credentials(mechanism: str, reason: str, answer: bytes = b"") -> Refused:
    """The one refusal for wrong names, wrong secrets and messages that make no sense."""
    message = f"authentication failed: invalid credentials with SASL mechanism {mechanism}"
    return Refused(answer, message, reason[:LOGGED_CHARACTERS_MAX])


def decode_text(message: bytes, bytes_max: int) -> str:
    """The message as text; AuthenticationFailed if it is too long or not UTF-8."""
    if len(message) > bytes_max:
        raise AuthenticationFailed(
            f"the message has {len(message)} bytes, the limit is {bytes_max}"
        )
    try:
        return message.decode()
    except UnicodeDecodeError as error:
        raise AuthenticationFailed("the message is not UTF-8") from error


@dataclass(frozen=True, slots=True)
class SessionLifetime:
    """How long an authentication holds. The peer is told ``lifetime_ms``; 0 means for ever."""

    lifetime_ms: int
    expires_at_ms: int | None


def session_lifetime(
    now_ms: int, credential_expires_at_ms: int | None, reauthentication_ms_max: int
) -> SessionLifetime:
    """The shorter of what the credential and ``connections.max.reauth.ms`` (0: not set) allow."""
    limits = [reauthentication_ms_max] if reauthentication_ms_max > 0 else []
    if credential_expires_at_ms is not None:
        limits.append(max(0, credential_expires_at_ms - now_ms))
    if not limits:
        return SessionLifetime(0, None)
    return SessionLifetime(min(limits), now_ms + min(limits))


def raise_if_identity_changed(
    previous: Principal, previous_mechanism: str, current: Principal, current_mechanism: str
) -> None:
    """Authenticating again must not turn a connection into somebody else's (KIP-368)."""
    if current_mechanism != previous_mechanism:
        raise PrincipalChanged(
            f"the mechanism cannot change from {previous_mechanism} to {current_mechanism}"
        )
    if current != previous:
        raise PrincipalChanged(f"the principal cannot change from {previous} to {current}")

"""SASL PLAIN (RFC 4616): a name and a password in one message.

The password check is passed in. It must do the same work for a name that does not exist;
``ScramPasswords`` does, so that passwords need not be stored to be accepted here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.model.errors import AuthenticationFailed
from headrace.security.acl import Principal
from headrace.security.sasl import (
    Accepted,
    Refused,
    SaslOutcome,
    decode_text,
    invalid_credentials,
)

if TYPE_CHECKING:
    from collections.abc import Callable

PLAIN = "PLAIN"
MESSAGE_BYTES_MAX = 4_096


class PlainConversation:
    """The server side of PLAIN."""

    def __init__(self, is_password: Callable[[str, str], bool]) -> None:
        self._is_password = is_password
        self._is_over = False

    def receive(self, message: bytes, now_ms: int) -> SaslOutcome:
        if self._is_over:
            return invalid_credentials(PLAIN, "a message after the end of the conversation")
        self._is_over = True
        try:
            authorization_id, name, password = parse_plain_message(message)
        except AuthenticationFailed as error:
            return invalid_credentials(PLAIN, error.message)
        if not self._is_password(name, password):
            return invalid_credentials(PLAIN, f"wrong name or password for {name!r}")
        if authorization_id not in ("", name):
            # Only said to those who know the password, so nothing leaks.
            text = "authentication failed: the authorization id differs from the user name"
            return Refused(b"", text, text)
        return Accepted(b"", Principal.user(name))


def parse_plain_message(message: bytes) -> tuple[str, str, str]:
    """Authorization id (often empty), name and password; else AuthenticationFailed."""
    parts = decode_text(message, MESSAGE_BYTES_MAX).split("\0", 3)
    if len(parts) != 3:
        raise AuthenticationFailed("a PLAIN message has exactly two NUL characters")
    authorization_id, name, password = parts
    if not name or not password:
        raise AuthenticationFailed("the user name and the password must not be empty")
    return authorization_id, name, password

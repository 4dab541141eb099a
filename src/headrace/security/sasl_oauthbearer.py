"""SASL OAUTHBEARER (RFC 7628) with Kafka's extensions (KIP-342): the server side.

A token that is not accepted is answered with a JSON challenge; the client answers that with one
byte 0x01, and only then is it refused. The token check is passed in.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from headrace.model.errors import AuthenticationFailed, InsufficientScope, TokenRejected
from headrace.security.acl import Principal
from headrace.security.sasl import (
    Accepted,
    Challenge,
    Refused,
    SaslOutcome,
    decode_text,
    invalid_credentials,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OAUTHBEARER = "OAUTHBEARER"
MESSAGE_BYTES_MAX = 65_536
PAIRS_MAX = 64
_SEPARATOR = "\x01"
_KEY = re.compile(r"[A-Za-z]+\Z")
_VALUE = re.compile(r"[\x21-\x7e \t\r\n]+\Z")
_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/-]+=*)\Z", re.IGNORECASE)
_BAD_ESCAPE = re.compile(r"=(?!2C|3D)")


@dataclass(frozen=True, slots=True)
class BearerMessage:
    """The client's first message."""

    authorization_id: str
    token: str = field(repr=False)
    extensions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ValidToken:
    """What counts of a token that is accepted."""

    principal_name: str
    expires_at_ms: int
    scopes: frozenset[str] = frozenset()


class _Expect(Enum):
    FIRST = "the token"
    ACKNOWLEDGEMENT = "0x01"
    NOTHING = "nothing"


class OAuthBearerConversation:
    """The server side of OAUTHBEARER. ``validate`` raises TokenRejected for a bad token."""

    def __init__(
        self, validate: Callable[[str, int], ValidToken], required_scope: str | None = None
    ) -> None:
        self._validate = validate
        self._required_scope = required_scope
        self._expect = _Expect.FIRST
        self._reason = ""

    def receive(self, message: bytes, now_ms: int) -> SaslOutcome:
        expect, self._expect = self._expect, _Expect.NOTHING
        if expect is _Expect.FIRST:
            return self._receive_first(message, now_ms)
        if expect is _Expect.ACKNOWLEDGEMENT:
            return invalid_credentials(OAUTHBEARER, self._reason)
        return invalid_credentials(OAUTHBEARER, "a message after the end of the conversation")

    def _receive_first(self, message: bytes, now_ms: int) -> SaslOutcome:
        try:
            first = parse_bearer_message(message)
            token = self._validate(first.token, now_ms)
        except TokenRejected as error:
            return self._challenge(error)
        except AuthenticationFailed as error:
            return invalid_credentials(OAUTHBEARER, error.message)
        if first.authorization_id not in ("", token.principal_name):
            text = "authentication failed: the authorization id differs from the token's principal"
            return Refused(b"", text, text)
        return Accepted(
            b"", Principal.user(token.principal_name), token.expires_at_ms, first.extensions
        )

    def _challenge(self, error: TokenRejected) -> Challenge:
        self._expect = _Expect.ACKNOWLEDGEMENT
        self._reason = error.message
        is_scope = isinstance(error, InsufficientScope)
        # RFC 7628, 3.2.2: status is required, scope optional.
        answer = {"status": "insufficient_scope" if is_scope else "invalid_token"}
        if self._required_scope is not None:
            answer["scope"] = self._required_scope
        return Challenge(json.dumps(answer, separators=(",", ":")).encode())


def parse_bearer_message(message: bytes) -> BearerMessage:
    """``n,[a=authzid],^Aauth=Bearer token^A[key=value^A]...^A``; else AuthenticationFailed."""
    text = decode_text(message, MESSAGE_BYTES_MAX)
    header, separator, rest = text.partition(_SEPARATOR)
    if not separator or not rest.endswith(_SEPARATOR * 2):
        raise AuthenticationFailed("the message is not framed by 0x01 bytes")
    pairs = _pairs(rest[:-2].split(_SEPARATOR, PAIRS_MAX))
    bearer = _BEARER.match(pairs.pop("auth", ""))
    if bearer is None:
        raise AuthenticationFailed("there is no bearer token")
    return BearerMessage(_authorization_id(header), bearer.group(1), pairs)


def _pairs(fields: list[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in fields:
        key, equals, value = text.partition("=")
        if not (equals and _KEY.match(key) and _VALUE.match(value)) or key in pairs:
            raise AuthenticationFailed("a key or value is malformed, or there twice")
        pairs[key] = value
    return pairs


def _authorization_id(header: str) -> str:
    fields = header.split(",")
    if len(fields) != 3 or fields[0] not in ("n", "y") or fields[2]:
        raise AuthenticationFailed("the message does not start with a GS2 header")
    if not fields[1]:
        return ""
    key, _, name = fields[1].partition("=")
    if key != "a" or not name or _BAD_ESCAPE.search(name):
        raise AuthenticationFailed("the authorization id is malformed")
    return name.replace("=2C", ",").replace("=3D", "=")

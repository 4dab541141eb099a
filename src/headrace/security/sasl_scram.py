"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677): the server side.

An unknown user gets a salt, a challenge and a refusal like anybody else, at the same cost: the
conversation runs on a fake credential to its end. The server's nonce is passed in.
"""

from __future__ import annotations

import hmac
from enum import Enum
from typing import TYPE_CHECKING

from headrace.model.errors import AuthenticationFailed
from headrace.security import scram_messages as messages
from headrace.security.acl import Principal
from headrace.security.sasl import Accepted, Challenge, Refused, SaslOutcome, invalid_credentials

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.security.scram_credential import (
        FakeCredentials,
        ScramCredential,
        ScramMechanism,
    )

_TOKEN_EXTENSION = "tokenauth"
"""Kafka's sign that the name is the id of a delegation token."""


class _Expect(Enum):
    FIRST = "client-first-message"
    FINAL = "client-final-message"
    NOTHING = "nothing"


class ScramConversation:
    """The server side of SCRAM for one mechanism."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        find: Callable[[str], ScramCredential | None],
        fakes: FakeCredentials,
        server_nonce: str,
    ) -> None:
        assert messages.is_nonce(server_nonce), "the server's nonce must be printable"
        self._mechanism = mechanism
        self._find = find
        self._fakes = fakes
        self._server_nonce = server_nonce
        self._expect = _Expect.FIRST
        self._first: messages.ClientFirst
        self._credential: ScramCredential
        self._is_known = False
        self._nonce = ""
        self._server_first = ""

    def receive(self, message: bytes, now_ms: int) -> SaslOutcome:
        expect, self._expect = self._expect, _Expect.NOTHING
        try:
            if expect is _Expect.FIRST:
                return self._receive_first(message)
            if expect is _Expect.FINAL:
                return self._receive_final(message)
        except messages.ChannelBindingRefused as error:
            return self._refused(error.message, "channel-binding-not-supported")
        except AuthenticationFailed as error:
            return self._refused(error.message, "invalid-encoding")
        return self._refused("a message after the end of the conversation")

    def _receive_first(self, message: bytes) -> SaslOutcome:
        self._first = first = messages.parse_client_first(message)
        if first.extensions.get(_TOKEN_EXTENSION, "").lower() == "true":
            return self._refused("delegation tokens are not supported", "extensions-not-supported")
        known = self._find(first.name)
        self._is_known = known is not None
        self._credential = credential = known or self._fakes.of(self._mechanism, first.name)
        self._nonce = first.nonce + self._server_nonce
        self._server_first = messages.server_first(
            self._nonce, credential.salt, credential.iterations
        )
        self._expect = _Expect.FINAL
        return Challenge(self._server_first.encode())

    def _receive_final(self, message: bytes) -> SaslOutcome:
        final = messages.parse_client_final(message)
        if final.channel_binding != self._first.gs2_header.encode():
            # The header came in clear; this is its signed copy. A man in the middle changed it.
            return self._refused("the channel binding differs", "channel-bindings-dont-match")
        if not hmac.compare_digest(final.nonce.encode(), self._nonce.encode()):
            return self._refused("the nonce differs")
        signed = f"{self._first.bare},{self._server_first},{final.without_proof}".encode()
        if not self._is_proof(final.proof, signed) or not self._is_known:
            return self._refused(f"wrong name or password for {self._first.name!r}")
        if self._first.authorization_id not in ("", self._first.name):
            # Only said to those who know the password, so nothing leaks.
            text = "authentication failed: the authorization id differs from the user name"
            return Refused(b"e=other-error", text, text)
        signature = self._mechanism.hmac(self._credential.server_key, signed)
        return Accepted(messages.server_final(signature), Principal.user(self._first.name))

    def _is_proof(self, proof: bytes, signed: bytes) -> bool:
        stored_key = self._credential.stored_key
        signature = self._mechanism.hmac(stored_key, signed)
        if len(proof) != len(signature):
            return False
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        return hmac.compare_digest(self._mechanism.hash(client_key), stored_key)

    def _refused(self, reason: str, error: str = "invalid-proof") -> Refused:
        return invalid_credentials(self._mechanism.sasl_name, reason, b"e=" + error.encode())

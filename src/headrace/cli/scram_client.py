"""The client's side of a SCRAM exchange (RFC 5802): proves the password without telling it."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import TYPE_CHECKING

from headrace.model.errors import AuthenticationFailed

if TYPE_CHECKING:
    from headrace.security.scram_credential import ScramMechanism

ITERATIONS_MAX = 1_000_000
"""A server that asks for more wants to keep us busy."""
_NO_CHANNEL_BINDING = "n,,"


class ScramClient:
    """``first``, then ``final`` with the server's answer, then ``verify`` with its last word."""

    def __init__(self, mechanism: ScramMechanism, user: str, password: str, nonce: str) -> None:
        self._mechanism = mechanism
        self._password = password
        self._nonce = nonce
        name = user.replace("=", "=3D").replace(",", "=2C")
        self._first_bare = f"n={name},r={nonce}"
        self._expected = b""

    def first(self) -> bytes:
        return f"{_NO_CHANNEL_BINDING}{self._first_bare}".encode()

    def final(self, challenge: bytes) -> bytes:
        """AuthenticationFailed if the challenge is not an answer to ``first``."""
        fields = _fields(challenge)
        nonce = fields.get("r", "")
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise AuthenticationFailed("the broker's challenge is not for this client")
        iterations = int(fields.get("i", "0"))
        if not 0 < iterations <= ITERATIONS_MAX:
            raise AuthenticationFailed(f"the broker asks for {iterations} iterations")
        salt = base64.b64decode(fields.get("s", ""))
        binding = base64.b64encode(_NO_CHANNEL_BINDING.encode()).decode()
        without_proof = f"c={binding},r={nonce}"
        signed = f"{self._first_bare},{challenge.decode()},{without_proof}".encode()
        proof = base64.b64encode(self._proof(salt, iterations, signed)).decode()
        return f"{without_proof},p={proof}".encode()

    def verify(self, last: bytes) -> None:
        """AuthenticationFailed unless the broker knows the password, too."""
        signature = base64.b64decode(_fields(last).get("v", ""))
        if not hmac.compare_digest(signature, self._expected):
            raise AuthenticationFailed("the broker could not prove that it knows the password")

    def _proof(self, salt: bytes, iterations: int, signed: bytes) -> bytes:
        mechanism = self._mechanism
        salted = hashlib.pbkdf2_hmac(mechanism.hash_name, self._password.encode(), salt, iterations)
        client_key = mechanism.hmac(salted, b"Client Key")
        signature = mechanism.hmac(mechanism.hash(client_key), signed)
        self._expected = mechanism.hmac(mechanism.hmac(salted, b"Server Key"), signed)
        return bytes(a ^ b for a, b in zip(client_key, signature, strict=True))


def _fields(message: bytes) -> dict[str, str]:
    pairs = (field.partition("=") for field in message.decode().split(","))
    return {name: value for name, _, value in pairs}

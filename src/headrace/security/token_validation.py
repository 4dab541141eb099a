"""Bearer tokens (JWT, RFC 7519) checked against a key set (JWKS, RFC 7517), by PyJWT.

Only asymmetric signatures exist here: ``none`` and the HS family are not in the verifier at all,
so a public key can never be taken for a shared secret. Time is passed in.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jwt

from headrace.model.errors import InsufficientScope, InvalidConfig, TokenRejected
from headrace.security.sasl_oauthbearer import ValidToken

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN_CHARACTERS_MAX = 16_384
KEY_SET_BYTES_MAX = 1 << 20
KEYS_MAX = 256
CLAIM_CHARACTERS_MAX = 1_024
RSA_BITS_MIN = 2_048

_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_ELLIPTIC = {"P-256": ("ES256",), "P-384": ("ES384",), "P-521": ("ES512",)}
_EDWARDS = {"Ed25519": ("EdDSA",), "Ed448": ("EdDSA",)}
ALGORITHMS = (*_RSA, "ES256", "ES384", "ES512", "EdDSA")
"""All that can be allowed."""
DEFAULT_ALGORITHMS = frozenset({"RS256", "PS256", "ES256", "ES384", "EdDSA"})


@dataclass(frozen=True, slots=True)
class TokenRules:
    """What a token must be like."""

    issuer: str | None = None
    audiences: frozenset[str] = frozenset()
    """The token must be for one of these; empty: for whomever."""
    required_scopes: frozenset[str] = frozenset()
    algorithms: frozenset[str] = DEFAULT_ALGORITHMS
    clock_skew_ms: int = 30_000
    principal_claim: str = "sub"
    scope_claim: str = "scope"

    def __post_init__(self) -> None:
        if unknown := self.algorithms - set(ALGORITHMS):
            raise InvalidConfig(f"token algorithms that are not allowed: {sorted(unknown)}")
        if not self.algorithms:
            raise InvalidConfig("at least one token algorithm must be allowed")


@dataclass(frozen=True, slots=True)
class _Key:
    key_id: str | None
    algorithms: tuple[str, ...]
    public_key: Any


class KeySet:
    """The public keys that tokens may be signed with."""

    def __init__(self, keys: tuple[_Key, ...]) -> None:
        self._keys = keys

    def __len__(self) -> int:
        return len(self._keys)

    @classmethod
    def from_jwks(cls, text: bytes) -> KeySet:
        """From a JWKS document; keys of unknown kinds are left out (RFC 7517, 5)."""
        if len(text) > KEY_SET_BYTES_MAX:
            raise InvalidConfig(f"the key set is larger than {KEY_SET_BYTES_MAX} bytes")
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidConfig("the key set is not JSON") from error
        entries = document.get("keys") if isinstance(document, dict) else None
        if not isinstance(entries, list) or len(entries) > KEYS_MAX:
            raise InvalidConfig(f"a key set is an object with a list `keys` of {KEYS_MAX} at most")
        keys = tuple(key for entry in entries if (key := _maybe_key(entry)) is not None)
        if not keys:
            raise InvalidConfig("the key set has no public key to check signatures with")
        return cls(keys)

    def maybe_find(self, key_id: str | None, algorithm: str) -> Any | None:
        """The one key that a token with this header is signed with."""
        fitting = [
            key
            for key in self._keys
            if algorithm in key.algorithms and key_id in (None, key.key_id)
        ]
        return fitting[0].public_key if len(fitting) == 1 else None


class TokenValidator:
    """Checks tokens; ``keys`` may be replaced at any time."""

    def __init__(self, rules: TokenRules, keys: KeySet) -> None:
        self._rules = rules
        self._verifier = jwt.PyJWS(algorithms=sorted(rules.algorithms))
        self.keys = keys

    def validate(self, token: str, now_ms: int) -> ValidToken:
        """What counts of the token; TokenRejected or InsufficientScope if it is not accepted."""
        claims = self._verified_claims(token)
        expires_at_ms = self._checked_expiry(claims, now_ms)
        self._raise_if_not_for_us(claims)
        scopes = _scopes(claims.get(self._rules.scope_claim))
        if missing := self._rules.required_scopes - scopes:
            raise InsufficientScope(f"the token lacks the scopes {sorted(missing)}")
        name = claims.get(self._rules.principal_claim)
        if not isinstance(name, str) or not 0 < len(name) <= CLAIM_CHARACTERS_MAX:
            raise TokenRejected(f"the claim {self._rules.principal_claim!r} names nobody")
        return ValidToken(name, expires_at_ms, scopes)

    def _verified_claims(self, token: str) -> dict[str, Any]:
        if len(token) > TOKEN_CHARACTERS_MAX:
            raise TokenRejected(f"the token exceeds {TOKEN_CHARACTERS_MAX} characters")
        # RecursionError: brackets nested a thousand deep are valid JSON.
        try:
            header = self._verifier.get_unverified_header(token)
            key, algorithm = self._key_for(header)
            payload = self._verifier.decode(token, key, algorithms=[algorithm])
            claims = json.loads(payload)
        except (jwt.PyJWTError, ValueError, RecursionError) as error:
            raise TokenRejected(f"the token cannot be verified: {type(error).__name__}") from error
        if not isinstance(claims, dict):
            raise TokenRejected("the token's claims are not an object")
        return claims

    def _key_for(self, header: Mapping[str, Any]) -> tuple[Any, str]:
        algorithm, key_id = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in self._rules.algorithms:
            raise TokenRejected("the token's algorithm is not allowed")
        if "crit" in header:
            raise TokenRejected("the token demands an extension")
        if key_id is not None and not isinstance(key_id, str):
            raise TokenRejected("the token's key id is not text")
        key = self.keys.maybe_find(key_id, algorithm)
        if key is None:
            raise TokenRejected("the token's key is unknown, or not the only one that fits")
        return key, algorithm

    def _checked_expiry(self, claims: Mapping[str, Any], now_ms: int) -> int:
        skew_ms = self._rules.clock_skew_ms
        expires_at_ms = _maybe_time_ms(claims, "exp")
        if expires_at_ms is None:
            raise TokenRejected("the token does not say when it expires")
        if expires_at_ms + skew_ms <= now_ms:
            raise TokenRejected("the token has expired")
        for claim in ("nbf", "iat"):
            starts_at_ms = _maybe_time_ms(claims, claim)
            if starts_at_ms is not None and starts_at_ms - skew_ms > now_ms:
                raise TokenRejected(f"the token's {claim} is in the future")
        return expires_at_ms

    def _raise_if_not_for_us(self, claims: Mapping[str, Any]) -> None:
        if self._rules.issuer is not None and claims.get("iss") != self._rules.issuer:
            raise TokenRejected("the token has another issuer")
        if self._rules.audiences:
            audience = claims.get("aud")
            named = audience if isinstance(audience, list) else [audience]
            if not any(isinstance(one, str) and one in self._rules.audiences for one in named):
                raise TokenRejected("the token is for another audience")


def _maybe_key(entry: object) -> _Key | None:
    if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
        return None
    algorithms = _algorithms_of(entry)
    if not algorithms:
        return None
    if "d" in entry:
        raise InvalidConfig("the key set has a private key in it")
    try:
        # The algorithm only tells PyJWK which class reads the key.
        public_key: Any = jwt.PyJWK(entry, algorithm=algorithms[0]).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError) as error:
        raise InvalidConfig(f"a key of the key set is malformed: {error}") from error
    if entry["kty"] == "RSA" and public_key.key_size < RSA_BITS_MIN:
        raise InvalidConfig(f"an RSA key of the key set has less than {RSA_BITS_MIN} bits")
    key_id = entry.get("kid")
    return _Key(key_id if isinstance(key_id, str) else None, algorithms, public_key)


def _algorithms_of(entry: Mapping[str, Any]) -> tuple[str, ...]:
    kind, curve, named = entry.get("kty"), str(entry.get("crv")), entry.get("alg")
    possible: tuple[str, ...] = ()
    if kind == "RSA":
        possible = _RSA
    elif kind == "EC":
        possible = _ELLIPTIC.get(curve, ())
    elif kind == "OKP":
        possible = _EDWARDS.get(curve, ())
    return possible if named is None else tuple(one for one in possible if one == named)


def _maybe_time_ms(claims: Mapping[str, Any], claim: str) -> int | None:
    seconds = claims.get(claim)
    if seconds is None:
        return None
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not math.isfinite(seconds) or not 0 <= seconds < 1 << 40:
        raise TokenRejected(f"the token's {claim} is not a time")
    return int(seconds * 1_000)


def _scopes(claim: object) -> frozenset[str]:
    """Words of a text (RFC 8693) or a list of texts: providers differ."""
    if isinstance(claim, str):
        return frozenset(claim.split())
    if isinstance(claim, list):
        return frozenset(scope for scope in claim if isinstance(scope, str))
    return frozenset()

import base64
import hashlib
import hmac
import json

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from headrace.model.errors import InsufficientScope, InvalidConfig, TokenRejected
from headrace.security.sasl_oauthbearer import ValidToken
from headrace.security.token_validation import (
    TOKEN_CHARACTERS_MAX,
    KeySet,
    TokenRules,
    TokenValidator,
)

NOW_S = 1_700_000_000
NOW_MS = NOW_S * 1_000
RSA_KEY = rsa.generate_private_key(65_537, 2_048)
OTHER_RSA_KEY = rsa.generate_private_key(65_537, 2_048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()
CLAIMS = {"sub": "alice", "exp": NOW_S + 600, "iss": "https://issuer", "aud": ["kafka", "x"]}
RULES = TokenRules(issuer="https://issuer", audiences=frozenset({"kafka"}))


def jwks(*entries):
    return json.dumps({"keys": list(entries)}).encode()


def entry(algorithm, key, **more):
    return algorithm.to_jwk(key.public_key(), as_dict=True) | more


RSA_ENTRY = entry(RSAAlgorithm, RSA_KEY, kid="r", use="sig")
KEYS = KeySet.from_jwks(
    jwks(RSA_ENTRY, entry(ECAlgorithm, EC_KEY, kid="e"), entry(OKPAlgorithm, ED_KEY, kid="o"))
)


def token(key=RSA_KEY, algorithm="RS256", kid="r", headers=None, **changes):
    claims = {k: v for k, v in (CLAIMS | changes).items() if v is not None}
    return jwt.encode(claims, key, algorithm, headers={"kid": kid} | (headers or {}))


def validate(text, rules=RULES, keys=KEYS, now_ms=NOW_MS):
    return TokenValidator(rules, keys).validate(text, now_ms)


def segment(value):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "text",
    [
        token(),
        token(algorithm="PS256"),
        token(EC_KEY, "ES256", "e"),
        token(ED_KEY, "EdDSA", "o"),
        token(aud="kafka"),
        token(nbf=NOW_S + 29),
        token(headers={"typ": "at+jwt"}),
    ],
)
def test_good_token_is_accepted(text):
    assert validate(text) == ValidToken("alice", (NOW_S + 600) * 1_000)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.b.c",
        "x" * (TOKEN_CHARACTERS_MAX + 1),
        token(OTHER_RSA_KEY),
        token(kid="unknown"),
        token(EC_KEY, "ES256", "r"),
        token(algorithm="RS512"),
        token(exp=NOW_S - 30),
        token(exp=None),
        token(nbf=NOW_S + 31),
        token(iat=NOW_S + 31),
        token(iss="https://other"),
        token(iss=None),
        token(aud="other"),
        token(aud=None),
        token(sub=None),
        token(sub=""),
        token(headers={"crit": ["x"], "x": 1}),
        token()[:-8] + "AAAAAAAA",
        segment(b"[" * 9_000) + ".e30.e30",
    ],
)
def test_bad_token_is_rejected(text):
    with pytest.raises(TokenRejected):
        validate(text)


@pytest.mark.parametrize("expiry", [True, "soon", 1e300, -5, float("nan"), [1]])
def test_expiry_that_is_no_time_is_rejected(expiry):
    text = jwt.PyJWS().encode(
        json.dumps(CLAIMS | {"exp": expiry}).encode(), RSA_KEY, "RS256", headers={"kid": "r"}
    )
    with pytest.raises(TokenRejected):
        validate(text)


def test_unsigned_token_is_rejected():
    text = f"{segment({'alg': 'none', 'kid': 'r'})}.{segment(CLAIMS)}."
    with pytest.raises(TokenRejected):
        validate(text)


def test_public_key_is_never_a_shared_secret():
    pem = RSA_KEY.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    signed = f"{segment({'alg': 'HS256', 'kid': 'r'})}.{segment(CLAIMS)}"
    text = f"{signed}.{segment(hmac.digest(pem, signed.encode(), hashlib.sha256))}"
    with pytest.raises(TokenRejected):
        validate(text)
    for algorithm in ("HS256", "none"):
        with pytest.raises(InvalidConfig):
            TokenRules(algorithms=frozenset({algorithm}))
    with pytest.raises(InvalidConfig):
        TokenRules(algorithms=frozenset())


def test_clock_skew_is_passed_in():
    text = token(exp=NOW_S - 10)
    assert validate(text).principal_name == "alice"
    with pytest.raises(TokenRejected):
        validate(text, TokenRules(clock_skew_ms=0))


@pytest.mark.parametrize("scope", ["read write", ["read", "write"]])
def test_scopes_are_text_or_list(scope):
    rules = TokenRules(required_scopes=frozenset({"write"}), scope_claim="scp")
    assert validate(token(scp=scope), rules).scopes == {"read", "write"}
    with pytest.raises(InsufficientScope):
        validate(token(scope=scope), rules)


def test_principal_claim_can_be_another():
    assert validate(token(azp="svc"), TokenRules(principal_claim="azp")).principal_name == "svc"


def test_token_without_key_id_needs_a_single_fitting_key():
    text = jwt.encode(CLAIMS, RSA_KEY, "RS256")
    assert validate(text).principal_name == "alice"
    both = KeySet.from_jwks(jwks(RSA_ENTRY, entry(RSAAlgorithm, OTHER_RSA_KEY, kid="s")))
    with pytest.raises(TokenRejected):
        validate(text, keys=both)


def test_named_algorithm_of_a_key_is_the_only_one():
    keys = KeySet.from_jwks(jwks(RSA_ENTRY | {"alg": "PS256"}))
    assert validate(token(algorithm="PS256"), keys=keys).principal_name == "alice"
    with pytest.raises(TokenRejected):
        validate(token(), keys=keys)


def test_replaced_keys_count_from_then_on():
    validator = TokenValidator(RULES, KEYS)
    validator.keys = KeySet.from_jwks(jwks(entry(RSAAlgorithm, OTHER_RSA_KEY, kid="r")))
    with pytest.raises(TokenRejected):
        validator.validate(token(), NOW_MS)
    assert validator.validate(token(OTHER_RSA_KEY), NOW_MS).principal_name == "alice"


def test_keys_of_unknown_kinds_are_left_out():
    secret = {"kty": "oct", "k": "AAAA", "kid": "h"}
    encryption = RSA_ENTRY | {"use": "enc"}
    assert len(KeySet.from_jwks(jwks(secret, encryption, {"kty": "new"}, 5, RSA_ENTRY))) == 1


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{}",
        b"[" * 100_000,
        jwks(),
        jwks({"kty": "oct", "k": "AAAA"}),
        jwks({"kty": "RSA", "n": "AQAB"}),
        jwks({"kty": "RSA", "n": 5, "e": None}),
        jwks({"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}),
        jwks(RSAAlgorithm.to_jwk(RSA_KEY, as_dict=True)),
        jwks(*[RSA_ENTRY] * 300),
        b" " * (1 << 21),
    ],
)
def test_bad_key_set_is_refused(text):
    with pytest.raises(InvalidConfig):
        KeySet.from_jwks(text)


def test_short_rsa_key_is_refused():
    modulus = base64.urlsafe_b64encode(((1 << 1_023) + 1).to_bytes(128, "big")).decode()
    with pytest.raises(InvalidConfig):
        KeySet.from_jwks(jwks({"kty": "RSA", "n": modulus.rstrip("="), "e": "AQAB"}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(
    st.text(max_size=60)
    | st.tuples(JSON, JSON, st.text(max_size=8)).map(
        lambda parts: f"{segment(parts[0])}.{segment(parts[1])}.{parts[2]}"
    )
)
def test_any_text_is_rejected_by_name(text):
    with pytest.raises(TokenRejected):
        validate(text)


HEADERS = st.fixed_dictionaries(
    {"alg": st.sampled_from(["RS256", "HS256", "none", 5])},
    optional={"kid": JSON, "typ": JSON, "b64": JSON, "jku": JSON, "jwk": JSON},
)


@given(HEADERS, JSON)
def test_any_header_is_rejected_by_name(header, claims):
    with pytest.raises(TokenRejected):
        validate(f"{segment(header)}.{segment(claims)}.AAAA")

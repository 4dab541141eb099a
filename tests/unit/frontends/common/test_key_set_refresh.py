"""Keys of tokens that are read again beside the loop."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import asynccontextmanager

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from headrace.frontends.common import key_set_refresh
from headrace.frontends.common.key_set_refresh import RefreshedTokens
from headrace.model.errors import InvalidConfig, TokenRejected
from headrace.security.token_validation import KeySet, TokenRules

OLD_KEY, NEW_KEY = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
URL = "https://keys.example/jwks"


def key_set(key) -> bytes:
    return json.dumps({"keys": [ECAlgorithm.to_jwk(key.public_key(), as_dict=True)]}).encode()


def token(key) -> str:
    return jwt.encode({"sub": "alice", "exp": int(time.time()) + 60}, key, "ES256")


def now_ms() -> int:
    return int(time.time() * 1000)


@asynccontextmanager
async def running(url: str, refresh_seconds: float = 3600.0):
    tokens = RefreshedTokens(asyncio.get_running_loop(), TokenRules(), url, refresh_seconds)
    tokens.start()
    try:
        yield tokens
    finally:
        tokens.stop()


async def accepted(tokens: RefreshedTokens, key) -> None:
    """Wait until a token of this key is accepted."""
    async with asyncio.timeout(5):
        while True:
            try:
                assert tokens.validate(token(key), now_ms()).principal_name == "alice"
                return
            except TokenRejected:
                await asyncio.sleep(0.005)


def test_file_is_read_before_the_start_ends(tmp_path):
    path = tmp_path / "keys.json"
    with pytest.raises(InvalidConfig, match=r"keys\.json"):
        asyncio.run(read_once(path.as_uri()))
    path.write_bytes(key_set(OLD_KEY))
    assert asyncio.run(read_once(path.as_uri())) == "alice"


async def read_once(url: str) -> str:
    async with running(url) as tokens:
        return tokens.validate(token(OLD_KEY), now_ms()).principal_name


def test_unsafe_url_is_refused_at_the_start():
    with pytest.raises(InvalidConfig, match="https"):
        asyncio.run(read_once("http://example.org/keys"))


def test_server_that_is_late_does_not_hold_up_the_start(monkeypatch):
    monkeypatch.setattr(
        key_set_refresh, "read_key_set", lambda _: KeySet.from_jwks(key_set(NEW_KEY))
    )

    async def scenario() -> None:
        async with running(URL) as tokens:
            with pytest.raises(TokenRejected):
                tokens.validate(token(NEW_KEY), now_ms())
            await accepted(tokens, NEW_KEY)

    asyncio.run(scenario())


def test_unknown_key_makes_the_keys_be_read_again_but_not_often(monkeypatch, tmp_path):
    path = tmp_path / "keys.json"
    path.write_bytes(key_set(OLD_KEY))

    async def scenario() -> None:
        async with running(path.as_uri()) as tokens:
            path.write_bytes(key_set(NEW_KEY))
            with pytest.raises(TokenRejected):
                tokens.validate(token(NEW_KEY), now_ms())
            assert tokens._reading is None, "they were read a moment ago"
            monkeypatch.setattr(key_set_refresh, "REFRESH_SECONDS_MIN", 0.0)
            await accepted(tokens, NEW_KEY)

    asyncio.run(scenario())


def test_keys_are_read_again_at_intervals(tmp_path):
    path = tmp_path / "keys.json"
    path.write_bytes(key_set(OLD_KEY))

    async def scenario() -> None:
        async with running(path.as_uri(), 0.01) as tokens:
            path.write_bytes(key_set(NEW_KEY))
            await accepted(tokens, NEW_KEY)

    asyncio.run(scenario())


def test_failure_is_told_of_and_the_old_keys_stay(tmp_path, caplog):
    path = tmp_path / "keys.json"
    path.write_bytes(key_set(OLD_KEY))

    async def scenario() -> None:
        async with running(path.as_uri()) as tokens:
            path.write_text("nonsense")
            tokens.refresh()
            tokens.refresh()
            async with asyncio.timeout(5):
                while not caplog.records:  # noqa: ASYNC110 (a list has no event)
                    await asyncio.sleep(0.005)
            await accepted(tokens, OLD_KEY)

    with caplog.at_level(logging.WARNING):
        asyncio.run(scenario())
    assert len(caplog.records) == 1
    assert "the old ones stay" in caplog.text

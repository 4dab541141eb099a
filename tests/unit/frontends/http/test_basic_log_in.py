"""HTTP Basic: what a header claims, and what it takes to believe it."""

from __future__ import annotations

import asyncio
import base64
import logging

import pytest

from headrace.environment.real import RealChance, RealClock
from headrace.frontends.common.known_users import KnownUsers
from headrace.frontends.http import basic_log_in
from headrace.frontends.http.basic_log_in import HEADER_BYTES_MAX, BasicLogIn, Given, maybe_given
from headrace.security.acl import Principal
from headrace.security.scram_credential import ITERATIONS_MIN, ScramCredential, ScramMechanism


class Stored(dict[str, ScramCredential]):
    """The metadata log; users come and go."""

    def put(self, user: str, password: str) -> None:
        mechanism = ScramMechanism.SCRAM_SHA_256
        self[user] = ScramCredential.from_password(mechanism, password, b"salt", ITERATIONS_MIN)

    def scram(self, user: str, mechanism: ScramMechanism) -> ScramCredential | None:
        return self.get(user) if mechanism is ScramMechanism.SCRAM_SHA_256 else None


@pytest.fixture
def stored() -> Stored:
    stored = Stored()
    stored.put("alice", "secret:word")
    return stored


def header(text: str, scheme: str = "Basic") -> bytes:
    return f"{scheme} {base64.b64encode(text.encode()).decode()}".encode()


def log_in_of(stored: Stored) -> BasicLogIn:
    chance = RealChance()
    return BasicLogIn(KnownUsers(None, stored, chance), RealClock(), chance, failure_delay_ms=0)


def ask(stored: Stored, *headers: bytes | None) -> list[Principal | None]:
    async def ask_all() -> list[Principal | None]:
        log_in = log_in_of(stored)
        return [await log_in.maybe_principal(each, "127.0.0.1") for each in headers]

    return asyncio.run(ask_all())


def test_right_password_says_who_it_is(stored: Stored) -> None:
    found = ask(stored, header("alice:secret:word"), header("alice:secret:word", "bASIC"))
    assert found == [Principal.user("alice")] * 2


@pytest.mark.parametrize(
    "given",
    [
        None,
        b"",
        b"Basic",
        b"Basic !!!",
        b"Basic /w==",
        header("alice:secret:word", "Bearer"),
        header("alice:wrong"),
        header("alice:"),
        header(":secret:word"),
        header("alice"),
        header("carol:secret:word"),
        header("Alice:secret:word"),
        header("alice:secret:word\0"),
        header("alice:" + "x" * HEADER_BYTES_MAX),
    ],
)
def test_anything_else_says_nothing(stored: Stored, given: bytes | None) -> None:
    assert ask(stored, given) == [None]


def test_non_ascii_passwords_are_utf_8() -> None:
    assert maybe_given(header("jürgen:pässwört")) == Given("jürgen", "pässwört")


def test_password_is_in_no_description() -> None:
    assert "secret" not in repr(maybe_given(header("alice:secret")))


def test_right_password_is_derived_once(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    derived = []
    is_password = ScramCredential.is_password

    def counted(self: ScramCredential, password: str) -> bool:
        derived.append(password)
        return is_password(self, password)

    monkeypatch.setattr(ScramCredential, "is_password", counted)
    right, wrong = header("alice:secret:word"), header("alice:wrong")
    assert ask(stored, right, right, wrong, wrong, right)[2:] == [
        None,
        None,
        Principal.user("alice"),
    ]
    assert derived == ["secret:word", "wrong", "wrong"]


def test_remembered_password_ends_with_its_credential(stored: Stored) -> None:
    async def ask_all() -> list[Principal | None]:
        log_in, given = log_in_of(stored), header("alice:secret:word")
        found = [await log_in.maybe_principal(given, "h")]
        stored.put("alice", "another")
        found.append(await log_in.maybe_principal(given, "h"))
        del stored["alice"]
        found.append(await log_in.maybe_principal(given, "h"))
        return found

    assert asyncio.run(ask_all()) == [Principal.user("alice"), None, None]


def test_no_more_is_remembered_than_the_limit(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(basic_log_in, "REMEMBERED_MAX", 1)
    stored.put("bob", "b")

    async def ask_all() -> int:
        log_in = log_in_of(stored)
        for given in ("alice:secret:word", "bob:b", "alice:secret:word"):
            assert await log_in.maybe_principal(header(given), "h")
        return len(log_in._remembered)

    assert asyncio.run(ask_all()) == 1


def test_wrong_passwords_take_one_line_of_the_log(
    stored: Stored, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        ask(stored, *[header("alice:typed-secret")] * 3, None)
    assert [record.message for record in caplog.records] == [
        "http: wrong name or password from 127.0.0.1"
    ]

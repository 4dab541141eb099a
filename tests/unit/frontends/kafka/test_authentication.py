"""The order of SASL's requests, without any I/O."""

from __future__ import annotations

import pytest

from headrace.frontends.kafka.authentication import Authentication, Phase
from headrace.frontends.kafka.served_apis import HANDLERS
from headrace.model.errors import (
    AuthenticationFailed,
    IllegalSaslState,
    PrincipalChanged,
    UnsupportedSaslMechanism,
)
from headrace.security.acl import Principal
from headrace.security.sasl import Accepted, Challenge, Refused

ALICE, BOB = Principal.user("alice"), Principal.user("bob")
HANDSHAKE, API_VERSIONS, AUTHENTICATE = 17, 18, 36
NOW_MS = 1_000_000


class Offered:
    """Two mechanisms; the conversations are never spoken to here."""

    enabled = ("PLAIN", "SCRAM-SHA-256")

    def conversation(self, mechanism: str) -> object:
        return f"conversation by {mechanism}"


def authentication(reauthentication_ms_max: int = 0) -> Authentication:
    return Authentication(Offered(), reauthentication_ms_max)  # type: ignore[arg-type]


def logged_in(reauthentication_ms_max: int = 0) -> Authentication:
    state = authentication(reauthentication_ms_max)
    state.choose("PLAIN", 1)
    assert state.conclude(Accepted(b"", ALICE), NOW_MS).principal == ALICE
    return state


def permitted(state: Authentication) -> set[int]:
    return {key for key in HANDLERS if state.permits(key)}


def test_only_the_log_in_is_served_before_it_is_done() -> None:
    state = authentication()
    assert permitted(state) == {HANDSHAKE, API_VERSIONS}
    state.choose("PLAIN", 1)
    assert permitted(state) == {AUTHENTICATE}
    state.conclude(Challenge(b"go on"), NOW_MS)
    assert permitted(state) == {AUTHENTICATE}
    state.conclude(Accepted(b"", ALICE), NOW_MS)
    assert permitted(state) == set(HANDLERS)


def test_answers_of_the_conversation_are_passed_on() -> None:
    state = authentication()
    state.choose("SCRAM-SHA-256", 1)
    assert state.conversation == "conversation by SCRAM-SHA-256"
    assert state.conclude(Challenge(b"challenge"), NOW_MS).answer == b"challenge"
    step = state.conclude(Accepted(b"proof", ALICE), NOW_MS)
    assert (step.answer, step.principal, step.error) == (b"proof", ALICE, None)


def test_mechanism_that_is_not_enabled_is_the_end() -> None:
    state = authentication()
    with pytest.raises(UnsupportedSaslMechanism) as caught:
        state.choose("GSSAPI" * 100, 1)
    assert len(caught.value.message) < 200
    assert permitted(state) == set()


def test_refusal_is_the_end_and_its_reason_is_not_for_the_peer() -> None:
    state = authentication()
    state.choose("PLAIN", 1)
    step = state.conclude(Refused(b"", "invalid credentials", "wrong for 'alice'"), NOW_MS)
    assert isinstance(step.error, AuthenticationFailed)
    assert step.error.message == "invalid credentials"
    assert step.reason == "wrong for 'alice'"
    assert permitted(state) == set()
    with pytest.raises(IllegalSaslState):
        assert state.conversation


def test_tokens_after_the_old_handshake_are_bare() -> None:
    state = authentication()
    state.choose("PLAIN", 0)
    assert state.phase is Phase.BARE_TOKENS
    assert permitted(state) == set()
    state.conclude(Accepted(b"", ALICE), NOW_MS)
    assert permitted(state) == set(HANDLERS)


def test_requests_out_of_order_are_illegal() -> None:
    state = authentication()
    with pytest.raises(IllegalSaslState):
        assert state.conversation
    state.choose("PLAIN", 1)
    with pytest.raises(IllegalSaslState):
        state.choose("PLAIN", 1)
    with pytest.raises(IllegalSaslState):
        assert logged_in().conversation


@pytest.mark.parametrize(
    ("credential_expires_at_ms", "maximum_ms", "lifetime_ms"),
    [
        (None, 0, 0),
        (None, 5_000, 5_000),
        (NOW_MS + 3_000, 5_000, 3_000),
        (NOW_MS + 9_000, 5_000, 5_000),
        (NOW_MS + 9_000, 0, 9_000),
    ],
)
def test_peer_is_told_how_long_it_holds(
    credential_expires_at_ms: int | None, maximum_ms: int, lifetime_ms: int
) -> None:
    state = authentication(maximum_ms)
    state.choose("PLAIN", 1)
    step = state.conclude(Accepted(b"", ALICE, credential_expires_at_ms), NOW_MS)
    assert step.lifetime.lifetime_ms == lifetime_ms
    assert (step.lifetime.expires_at_ms is None) == (lifetime_ms == 0)


def test_expired_log_in_can_only_be_renewed() -> None:
    state = logged_in(1_000)
    state.expire()
    assert permitted(state) == {HANDSHAKE, API_VERSIONS}
    state.choose("PLAIN", 1)
    assert permitted(state) == {AUTHENTICATE}
    assert state.conclude(Accepted(b"", ALICE), NOW_MS).principal == ALICE
    assert permitted(state) == set(HANDLERS)


def test_expiry_in_the_middle_of_the_renewal_changes_nothing() -> None:
    state = logged_in(1_000)
    state.choose("PLAIN", 1)
    state.expire()
    assert state.conclude(Accepted(b"", ALICE), NOW_MS).principal == ALICE


@pytest.mark.parametrize(
    ("mechanism", "principal"), [("PLAIN", BOB), ("SCRAM-SHA-256", ALICE), ("SCRAM-SHA-256", BOB)]
)
def test_nobody_becomes_somebody_else(mechanism: str, principal: Principal) -> None:
    state = logged_in()
    state.choose(mechanism, 1)
    step = state.conclude(Accepted(b"", principal), NOW_MS)
    assert isinstance(step.error, PrincipalChanged)
    assert step.principal is None
    assert permitted(state) == set()


def test_renewal_by_bare_tokens_is_illegal() -> None:
    state = logged_in()
    with pytest.raises(IllegalSaslState, match="v1 or newer"):
        state.choose("PLAIN", 0)
    assert permitted(state) == set(HANDLERS)

"""A denial is logged once in a window, and a flood of them is one line more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.denials import DENIALS_PER_WINDOW_MAX, WINDOW_SECONDS, Denial, DenialLog
from headrace.security.acl import Operation, Principal, ResourceType
from headrace.testing.simulated_clock import SimulatedClock

if TYPE_CHECKING:
    import pytest


def denial(name: str = "orders") -> Denial:
    return Denial(Principal.user("alice"), "10.0.0.1", Operation.READ, ResourceType.TOPIC, name)


def test_denial_is_a_sentence(caplog: pytest.LogCaptureFixture) -> None:
    DenialLog(SimulatedClock()).note(denial())
    assert caplog.messages == ["User:alice at 10.0.0.1 was denied READ on TOPIC 'orders'"]


def test_denial_is_logged_once_in_a_window(caplog: pytest.LogCaptureFixture) -> None:
    clock = SimulatedClock()
    denials = DenialLog(clock)
    for _ in range(3):
        denials.note(denial())
    assert len(caplog.messages) == 1
    clock.advance(WINDOW_SECONDS)
    denials.note(denial())
    assert len(caplog.messages) == 2


def test_flood_ends_with_one_line_more(caplog: pytest.LogCaptureFixture) -> None:
    clock = SimulatedClock()
    denials = DenialLog(clock)
    for number in range(5 * DENIALS_PER_WINDOW_MAX):
        denials.note(denial(f"t{number}"))
    assert len(caplog.messages) == DENIALS_PER_WINDOW_MAX + 1
    assert "more was denied" in caplog.messages[-1]
    denials.begin_anew()
    denials.note(denial())
    assert "orders" in caplog.messages[-1]


def test_name_cannot_forge_a_line(caplog: pytest.LogCaptureFixture) -> None:
    DenialLog(SimulatedClock()).note(denial("x\nERROR all is lost"))
    assert "\n" not in caplog.messages[0]

"""Clock, chance and background of the machine."""

from __future__ import annotations

import asyncio
import threading

import pytest

from headrace.environment import real
from headrace.environment.real import LoopBackground, RealChance, RealClock
from headrace.model.errors import LimitReached, StorageFailure


def test_clocks_go_forward() -> None:
    clock = RealClock()
    assert clock.now_ms() > 1_700_000_000_000
    assert clock.monotonic() <= clock.monotonic()


def test_chance_gives_bytes_and_fractions() -> None:
    chance = RealChance()
    assert len(chance.random_bytes(16)) == 16
    assert chance.random_bytes(16) != chance.random_bytes(16)
    assert 0 <= chance.random_float() < 1


async def submitted(background: LoopBackground, work: object) -> tuple[BaseException | None, int]:
    answer: asyncio.Future[tuple[BaseException | None, int]] = asyncio.Future()
    background.submit(work, lambda error: answer.set_result((error, threading.get_ident())))  # type: ignore[arg-type]
    return await asyncio.wait_for(answer, 10)


def test_work_runs_in_a_thread_and_reports_on_the_loop() -> None:
    async def scenario() -> None:
        background = LoopBackground(asyncio.get_running_loop())
        worker_ids: list[int] = []
        error, callback_thread = await submitted(
            background, lambda: worker_ids.append(threading.get_ident())
        )
        assert error is None
        assert callback_thread == threading.get_ident() != worker_ids[0]
        assert background.pending == 0
        background.close()

    asyncio.run(scenario())


def test_failed_work_reports_its_error() -> None:
    def fail() -> None:
        raise StorageFailure("no")

    async def scenario() -> None:
        background = LoopBackground(asyncio.get_running_loop())
        error, _ = await submitted(background, fail)
        assert isinstance(error, StorageFailure)
        background.close()

    asyncio.run(scenario())


def test_call_later_calls_and_can_be_cancelled() -> None:
    async def scenario() -> None:
        background = LoopBackground(asyncio.get_running_loop())
        called: asyncio.Future[str] = asyncio.Future()
        background.call_later(0, lambda: called.set_result("first")).cancel()
        background.call_later(0, lambda: called.set_result("second"))
        assert await asyncio.wait_for(called, 10) == "second"
        background.close()

    asyncio.run(scenario())


def test_work_is_refused_above_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real, "PENDING_WORK_MAX", 0)

    async def scenario() -> None:
        background = LoopBackground(asyncio.get_running_loop())
        with pytest.raises(LimitReached):
            background.submit(lambda: None, lambda error: None)
        background.close()

    asyncio.run(scenario())


def test_work_that_ends_after_the_loop_is_dropped_quietly() -> None:
    gate = threading.Event()
    reports: list[BaseException | None] = []

    async def scenario() -> LoopBackground:
        background = LoopBackground(asyncio.get_running_loop())
        background.submit(gate.wait, reports.append)
        return background

    background = asyncio.run(scenario())
    gate.set()
    background.close()
    assert reports == []

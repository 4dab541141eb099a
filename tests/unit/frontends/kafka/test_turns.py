"""Long work in small steps: everybody gets a step, and the loop goes round in between."""

from __future__ import annotations

import asyncio

from headrace.frontends.kafka.turns import Turns


def test_one_step_in_each_turn_of_the_loop():
    done: list[str] = []

    async def scenario() -> None:
        turns = Turns(asyncio.get_running_loop())

        def work(name: str, steps: int):
            left = iter(range(steps, 0, -1))

            def step() -> bool:
                done.append(name)
                return next(left) > 1

            return step

        turns.add(work("a", 3))
        turns.add(work("b", 1))
        turns.add(work("c", 2))
        while len(done) < 6:
            before = len(done)
            await asyncio.sleep(0)
            done_now = len(done) - before
            assert done_now <= 1
        turns.add(work("d", 1))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(scenario())
    assert done == ["a", "b", "c", "a", "c", "a", "d"]


def test_everything_is_finished_before_the_stop():
    done: list[str] = []

    async def scenario() -> None:
        turns = Turns(asyncio.get_running_loop())
        for name in "ab":
            left = iter([True, True, False])
            turns.add(lambda name=name, left=left: done.append(name) or next(left))
        turns.finish()
        assert sorted(done) == ["a", "a", "a", "b", "b", "b"]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(done) == 6, "and nothing is left for the loop"

    asyncio.run(scenario())

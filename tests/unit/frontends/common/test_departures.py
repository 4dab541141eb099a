"""Answers leave together at the end of a turn; the loop stays awake only for who comes back."""

from __future__ import annotations

import asyncio

from headrace.frontends.common.departures import Departures


def test_all_of_one_turn_leave_at_its_end_in_order_and_once():
    sent = []

    async def turns():
        departures = Departures(asyncio.get_running_loop(), 0.0)
        departures.add(lambda: sent.append("first"))
        departures.add(lambda: sent.append("second"))
        assert sent == []
        await asyncio.sleep(0)
        assert sent == ["first", "second"]
        departures.add(lambda: sent.append("third"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert sent == ["first", "second", "third"]

    asyncio.run(turns())


def test_what_is_added_while_the_others_leave_goes_in_the_next_turn():
    sent = []

    async def turns():
        departures = Departures(asyncio.get_running_loop(), 0.0)

        def send():
            sent.append("first")
            departures.add(lambda: sent.append("second"))

        departures.add(send)
        await asyncio.sleep(0)
        assert sent == ["first"]
        await asyncio.sleep(0)
        assert sent == ["first", "second"]

    asyncio.run(turns())


class CountingLoop:
    """Only what is asked for soon; the test decides when it is called."""

    def __init__(self):
        self.soon = []

    def call_soon(self, callback):
        self.soon.append(callback)

    def turn(self):
        calls, self.soon = self.soon, []
        for call in calls:
            call()


def test_the_loop_sleeps_once_nobody_comes_back():
    loop = CountingLoop()
    departures = Departures(loop, 0.001)
    for _ in range(50):  # one request after the other
        departures.add(lambda: None)
        loop.turn()
    assert loop.soon, "it polls for the next one"
    turns = 0
    while loop.soon and turns < 10_000_000:
        loop.turn()
        turns += 1
    assert not loop.soon
    assert turns > 1


def test_without_a_limit_the_loop_sleeps_at_once():
    loop = CountingLoop()
    departures = Departures(loop, 0.0)
    for _ in range(50):
        departures.add(lambda: None)
        loop.turn()
        assert not loop.soon

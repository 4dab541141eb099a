"""The budget of large requests: never exceeded, given in order, never lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.frontends.kafka.large_frames import UNLIMITED, LargeFrames


def test_who_comes_too_late_waits_for_a_release():
    frames, granted = LargeFrames(100, 60), []
    assert frames.reserve(60, lambda: granted.append("first"))
    assert not frames.reserve(60, lambda: granted.append("second"))
    assert not frames.reserve(10, lambda: granted.append("third")), "nobody overtakes"
    assert granted == []
    frames.release(60)
    assert granted == ["second", "third"]


def test_the_largest_frame_always_fits():
    frames = LargeFrames(10, 60)
    assert frames.reserve(60, lambda: None)


def test_who_leaves_makes_way():
    frames, granted = LargeFrames(100, 100), []

    def leaves() -> None:
        granted.append("gone")

    assert frames.reserve(50, leaves)
    assert not frames.reserve(100, leaves)
    assert not frames.reserve(50, lambda: granted.append("small"))
    frames.withdraw(leaves)
    assert granted == ["small"]


def test_without_a_limit_nobody_waits():
    frames = LargeFrames(UNLIMITED, 10)
    assert all(frames.reserve(1_000, lambda: None) for _ in range(10))


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 50)), max_size=60))
def test_never_more_than_the_budget_and_all_are_served(steps: list[tuple[bool, int]]):
    frames = LargeFrames(100, 50)
    held: list[int] = []
    asked = 0
    for is_release, size in steps:
        if is_release and held:
            frames.release(held.pop(0))
        elif not is_release:
            asked += 1
            if frames.reserve(size, lambda size=size: held.append(size)):
                held.append(size)
        assert sum(held) <= 100
    served = 0
    while held:
        frames.release(held.pop())
        served += 1
    assert frames.reserve(100, lambda: None), "all of it is free again"
    assert served <= asked

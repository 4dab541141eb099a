"""Deadlines against the plainest possible model, and at size."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.coordination.groups.deadlines import STALE_ENTRIES_MIN, Deadlines
from headrace.coordination.shard import Decision


def nothing(now_ms: int) -> Decision:
    return Decision([], [])


def named(name: object) -> Decision:
    return Decision([], [(name, None)])


@given(
    st.lists(
        st.tuples(st.sampled_from(["set", "cancel", "pop"]), st.integers(0, 4), st.integers(0, 50))
    )
)
def test_deadlines_agree_with_a_dictionary(steps: list[tuple[str, int, int]]) -> None:
    deadlines = Deadlines()
    model: dict[int, int] = {}
    for verb, key, time_ms in steps:
        if verb == "set":
            deadlines.set(key, time_ms, lambda _, key=key: named(key))
            model[key] = time_ms
        elif verb == "cancel":
            deadlines.cancel(key)
            model.pop(key, None)
        else:
            action = deadlines.pop_due(time_ms)
            due = {k for k, due_ms in model.items() if due_ms <= time_ms}
            if action is None:
                assert not due
            else:
                popped = action(time_ms).replies[0][0]
                assert popped in due
                assert model[popped] == min(model.values())
                del model[popped]
        assert deadlines.next_ms() == min(model.values(), default=None)
        assert len(deadlines) == len(model)


def test_moving_a_deadline_does_not_grow_the_heap() -> None:
    deadlines = Deadlines()
    for time_ms in range(10_000):
        deadlines.set("session", time_ms, nothing)
    assert deadlines.due_ms("session") == 9_999
    assert len(deadlines._heap) == 1
    assert deadlines.next_ms() == 9_999


def test_cancelled_deadlines_are_swept_from_the_heap() -> None:
    deadlines = Deadlines()
    for key in range(4 * STALE_ENTRIES_MIN):
        deadlines.set(key, key, nothing)
    for key in range(4 * STALE_ENTRIES_MIN - 1):
        deadlines.cancel(key)
    assert len(deadlines._heap) <= STALE_ENTRIES_MIN + 1
    assert deadlines.next_ms() == 4 * STALE_ENTRIES_MIN - 1
    assert 0 not in deadlines

"""Number to offset in runs, against a plain dictionary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.testing.history_runs import Placed, Run, Runs

PLACEMENTS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40)), max_size=60)


def test_records_of_a_batch_are_one_run() -> None:
    runs = Runs()
    for number in (0, 1, 2, 3, 7, 8, 5):
        assert runs.place(number, number + (10 if number < 4 else 20)) is Placed.NEW
    assert list(runs) == [Run(0, 10, 4), Run(5, 25, 1), Run(7, 27, 2)]
    assert runs.place(6, 26) is Placed.NEW
    assert list(runs) == [Run(0, 10, 4), Run(5, 25, 4)]
    assert (len(runs), runs.run_count, runs.end_offset) == (8, 2, 29)


def reference_place(known: dict[int, int], number: int, offset: int) -> Placed:
    if number in known:
        return Placed.KNOWN if known[number] == offset else Placed.ELSEWHERE
    in_order = all((n < number) == (o < offset) and o != offset for n, o in known.items())
    if not in_order:
        return Placed.OUT_OF_ORDER
    known[number] = offset
    return Placed.NEW


@given(PLACEMENTS, st.integers(0, 45), st.integers(0, 30), st.integers(0, 35))
def test_runs_are_a_dictionary_that_increases(placements, floor, first, end) -> None:
    runs, known = Runs(), {}
    for number, offset in placements:
        assert runs.place(number, offset) is reference_place(known, number, offset)
    assert {n: runs.offset_of(n) for n in range(31)} == {n: known.get(n) for n in range(31)}
    assert list(runs.missing(first, end)) == [n for n in range(first, end) if n not in known]
    assert all(runs.holds_offset(o) == (o in known.values()) for o in range(45))
    dropped = [n for n, o in known.items() if o < floor]
    assert runs.drop_below(floor) == max(dropped, default=-1) + 1
    assert {n: runs.offset_of(n) for n in range(31)} == {
        n: None if n in dropped else known.get(n) for n in range(31)
    }
    assert len(runs) == len(known) - len(dropped)

from __future__ import annotations

import pytest

from headrace.model.topic import TopicPartition
from headrace.pipeline.source.bounds import (
    EARLIEST,
    LATEST,
    AtOffsets,
    AtOneTimestamp,
    AtTimestamps,
    Everywhere,
)
from headrace.pipeline.source.errors import InvalidSourceOption, NoOffsetAtTimestamp
from headrace.pipeline.source.starting import ending_positions, starting_positions

from .fake_view import FakeView, options_of, questions_of

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def view():
    view = FakeView({A: (3, 10), B: (0, 20)})
    view.times = {A: {500: 7, 900: None}, B: {500: 0, 900: 15}}
    return view


def start(view, bound, **given):
    options = options_of({"subscribe": "t", **given}, is_streaming=True)
    return starting_positions(
        bound,
        [A, B],
        questions_of(view, options),
        is_latest_if_none_newer=options.is_latest_if_none_newer,
    )


def end(view, bound):
    options = options_of({"subscribe": "t"}, is_streaming=False)
    return ending_positions(bound, [A, B], questions_of(view, options))


def test_the_ends_of_all_partitions(view):
    assert start(view, Everywhere(EARLIEST)) == {A: 3, B: 0}
    assert start(view, Everywhere(LATEST)) == {A: 10, B: 20}


def test_the_end_of_a_reader_of_committed_records_is_the_last_stable_offset(view):
    view.stable = {A: 8}
    bound = Everywhere(LATEST)
    assert start(view, bound, **{"kafka.isolation.level": "read_committed"}) == {A: 8, B: 20}


def test_what_an_open_transaction_hides_is_not_found_by_its_time(view):
    view.stable = {B: 12}
    committed = {"kafka.isolation.level": "read_committed"}
    latest = {"startingOffsetsByTimestampStrategy": "latest"}
    bound = AtTimestamps({A: 500, B: 900})
    assert start(view, bound) == {A: 7, B: 15}
    assert start(view, bound, **committed, **latest) == {A: 7, B: 12}
    with pytest.raises(NoOffsetAtTimestamp, match="t-1"):
        start(view, bound, **committed)


def test_given_offsets_with_the_words_as_numbers(view):
    assert start(view, AtOffsets({A: EARLIEST, B: 4})) == {A: 3, B: 4}
    assert end(view, AtOffsets({A: 5, B: LATEST})) == {A: 5, B: 20}


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ({A: 1}, "lacks t-1"),
        ({A: 1, B: 1, TopicPartition("u", 9): 1}, "names u-9, which the query does not read"),
    ],
)
def test_offsets_must_name_exactly_what_is_read(view, offsets, message):
    with pytest.raises(InvalidSourceOption, match=f"startingOffsets must .*{message}"):
        start(view, AtOffsets(offsets))
    with pytest.raises(InvalidSourceOption, match=f"endingOffsetsByTimestamp must .*{message}"):
        end(view, AtTimestamps(offsets))


def test_by_timestamp(view):
    assert start(view, AtTimestamps({A: 500, B: 900})) == {A: 7, B: 15}
    assert start(view, AtOneTimestamp(500)) == {A: 7, B: 0}


def test_a_starting_timestamp_newer_than_every_record_is_an_error(view):
    with pytest.raises(NoOffsetAtTimestamp, match="in t-0; with the option"):
        start(view, AtOneTimestamp(900))


def test_or_the_latest_offset_if_the_strategy_says_so(view):
    given = {"startingOffsetsByTimestampStrategy": "latest"}
    assert start(view, AtOneTimestamp(900), **given) == {A: 10, B: 15}


def test_an_ending_timestamp_newer_than_every_record_is_the_end(view):
    assert end(view, AtOneTimestamp(900)) == {A: 10, B: 15}

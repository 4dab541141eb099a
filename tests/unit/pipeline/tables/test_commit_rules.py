"""The decision whether a batch is new, a replay, or an accident."""

from __future__ import annotations

import json

import pytest

from headrace.pipeline.errors import ForeignCheckpoint, TargetInUse
from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.tables.commit_rules import EMPTY_STATE, SourceIds, TableState, is_replay
from headrace.pipeline.tables.data_file import DataFile
from headrace.pipeline.tables.errors import OverlappingOffsets
from headrace.pipeline.tables.positions import normal

STATE = EMPTY_STATE.after("job", 3, {"orders": {0: 100, 1: 50}})


def file(start, end, partition=0, topic="orders"):
    return DataFile("f", 1, 1, {}, (OffsetRange(topic, partition, start, end),))


def ask(state=STATE, *, job="job", batch_id=4, files=(), positions=None, take_over=False):
    return is_replay(
        state,
        "here",
        job=job,
        batch_id=batch_id,
        files=files,
        positions=positions or {"orders": {0: 200, 1: 50}},
        take_over=take_over,
    )


def test_a_first_batch_is_new():
    assert not ask(EMPTY_STATE, batch_id=0, files=[file(0, 200)])


def test_a_next_batch_is_new():
    assert not ask(files=[file(100, 200)])


@pytest.mark.parametrize("batch_id", [0, 3])
def test_a_known_batch_is_a_replay(batch_id):
    assert ask(batch_id=batch_id, files=[file(90, 100)], positions={"orders": {0: 100, 1: 50}})


@pytest.mark.parametrize("ahead", [{"orders": {0: 101}}, {"orders": {2: 1}}, {"users": {0: 1}}])
def test_a_known_batch_with_unknown_offsets_is_refused(ahead):
    with pytest.raises(ForeignCheckpoint, match="checkpoint"):
        ask(batch_id=3, positions=ahead)


@pytest.mark.parametrize("wrong", [file(99, 200), file(100, 201), file(0, 5, topic="users")])
def test_offsets_that_do_not_fit_are_refused(wrong):
    with pytest.raises(OverlappingOffsets):
        ask(files=[wrong])


def test_another_job_is_refused_and_may_take_over():
    with pytest.raises(TargetInUse, match="'job'"):
        ask(job="other")
    assert not ask(job="other", batch_id=0, files=[file(100, 200)], take_over=True)
    with pytest.raises(OverlappingOffsets):
        ask(job="other", batch_id=0, files=[file(0, 100)], take_over=True)


def test_positions_never_go_back():
    after = STATE.after("job", 4, {"orders": {0: 20, 2: 7}})
    assert after.positions_of("job") == {"orders": {0: 100, 1: 50, 2: 7}}
    assert after.batch_of("job") == 4
    assert after.batch_of("other") is None
    assert after.positions_of("other") == {}


def test_states_survive_json():
    positions = {"orders": {0: 5, 10: 6}, "users": {}}
    source = SourceIds("cluster", {"orders": "0102"})
    state = EMPTY_STATE.after("job", 3, positions, source, "token")
    assert TableState.from_values(json.loads(json.dumps(state.to_values()))) == state
    assert normal({"orders": {"1": 5}}) == {"orders": {1: 5}}


def test_ids_of_topics_stay_until_there_are_newer_ones():
    first = EMPTY_STATE.after("job", 0, {}, SourceIds("cluster", {"a": "1", "b": "2"}))
    then = first.after("job", 1, {}, SourceIds("cluster", {"b": "3"}))
    assert then.source_of("job") == SourceIds("cluster", {"a": "1", "b": "3"})
    assert then.source_of("other") == SourceIds()


def test_how_far_all_jobs_got():
    both = STATE.after("other", 0, {"orders": {0: 7, 2: 9}})
    assert both.reached() == {"orders": {0: 100, 1: 50, 2: 9}}

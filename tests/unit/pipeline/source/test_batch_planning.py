from __future__ import annotations

import pytest

from headrace.pipeline.errors import DataLoss, OffsetsOutOfRange, TopicMissing
from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.source.batch_planning import plan_batch

from .fake_view import FakeView, options_of, questions_of


def plan(view, **given):
    selection = {} if {"assign", "subscribePattern"} & given.keys() else {"subscribe": "t"}
    options = options_of({**selection, **given}, is_streaming=False)
    return plan_batch(options, questions_of(view, options))


def test_everything_that_is_there():
    view = FakeView({("t", 0): (3, 10), ("t", 1): (0, 20), ("u", 0): (0, 1)})
    assert plan(view) == [OffsetRange("t", 0, 3, 10), OffsetRange("t", 1, 0, 20)]


def test_topics_by_pattern_match_as_a_whole():
    view = FakeView({("t1", 0): (0, 1), ("xt1", 0): (0, 1), ("t2", 0): (0, 1)})
    ranges = plan(view, subscribePattern="t[0-9]")
    assert [part.topic for part in ranges] == ["t1", "t2"]


def test_a_pattern_without_topics_reads_nothing():
    assert plan(FakeView({("t", 0): (0, 1)}), subscribePattern="nothing") == []


def test_assigned_partitions_only():
    view = FakeView({("t", 0): (0, 1), ("t", 1): (0, 2)})
    assert plan(view, assign='{"t": [1]}') == [OffsetRange("t", 1, 0, 2)]


def test_a_missing_topic_is_named():
    with pytest.raises(TopicMissing, match="topic t"):
        plan(FakeView({("u", 0): (0, 1)}))


def test_a_missing_partition_is_named():
    with pytest.raises(TopicMissing, match="there is no partition t-7"):
        plan(FakeView({("t", 0): (0, 1)}), assign='{"t": [0, 7]}')


def test_a_start_after_the_end_is_an_error():
    view = FakeView({("t", 0): (0, 50)})
    with pytest.raises(OffsetsOutOfRange, match="t-0 would begin at offset 3000 and end at 50"):
        plan(view, startingOffsets='{"t": {"0": 3000}}')


def test_records_that_aged_out_are_a_loss():
    view = FakeView({("t", 0): (30, 50)})
    with pytest.raises(DataLoss, match="offsets 10 to 29 of t-0 are lost"):
        plan(view, startingOffsets='{"t": {"0": 10}}')


def test_an_end_after_the_end_of_the_log_is_a_loss():
    view = FakeView({("t", 0): (30, 50)})
    with pytest.raises(DataLoss, match="offsets 50 to 59 of t-0 are lost"):
        plan(view, endingOffsets='{"t": {"0": 60}}')


def test_losses_are_passed_over_if_that_is_wanted(caplog):
    view = FakeView({("t", 0): (30, 50)})
    given = {"startingOffsets": '{"t": {"0": 10}}', "endingOffsets": '{"t": {"0": 60}}'}
    assert plan(view, failOnDataLoss="false", **given) == [OffsetRange("t", 0, 30, 50)]
    assert "offsets 10 to 29" in caplog.text
    assert "offsets 50 to 59" in caplog.text


def test_a_range_that_is_gone_as_a_whole():
    view = FakeView({("t", 0): (30, 50)})
    given = {"startingOffsets": '{"t": {"0": 10}}', "endingOffsets": '{"t": {"0": 20}}'}
    with pytest.raises(DataLoss, match="offsets 10 to 19"):
        plan(view, **given)
    assert plan(view, failOnDataLoss="false", **given) == []


def test_tasks_as_the_options_want_them():
    view = FakeView({("t", 0): (0, 100)})
    assert len(plan(view, minPartitions="7")) == 7
    assert len(plan(view, maxRecordsPerPartition="30")) == 4

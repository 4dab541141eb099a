from __future__ import annotations

import json

import pytest

from headrace.model.topic import TopicPartition
from headrace.pipeline.errors import DataLoss, ForeignCheckpoint, TopicMissing
from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.source.stream_offset import StreamOffset
from headrace.pipeline.source.stream_planning import StreamPlanner

from .fake_view import FakeView, options_of, questions_of

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class Query:
    """A streaming query and its checkpoint, as Spark would run it."""

    def __init__(self, view, **given):
        self.view = view
        self.now_ms = 0
        selection = {} if {"assign", "subscribePattern"} & given.keys() else {"subscribe": "t"}
        self.options = options_of(
            {"startingOffsets": "earliest", **selection, **given}, is_streaming=True
        )
        self.restart()
        self.position = None

    def restart(self):
        questions = questions_of(self.view, self.options)
        self.planner = StreamPlanner(self.options, questions, lambda: self.now_ms)

    def batch(self, *, is_limited=True):
        """The ranges of the next micro-batch; None if there is none."""
        if self.position is None:
            self.position = self.planner.initial()
        end = self.planner.latest(self.position, is_limited=is_limited)
        if json.dumps(end.to_json()) == json.dumps(self.position.to_json()):
            return None
        ranges = self.planner.ranges(self.position, end)
        self.position = StreamOffset.from_json(json.loads(json.dumps(end.to_json())))
        return ranges


def test_each_batch_goes_on_where_the_last_one_ended():
    query = Query(FakeView({A: (0, 5), B: (2, 4)}))
    assert query.batch() == [OffsetRange("t", 0, 0, 5), OffsetRange("t", 1, 2, 4)]
    assert query.batch() is None
    query.view.logs[A] = (0, 9)
    assert query.batch() == [OffsetRange("t", 0, 5, 9)]


def test_a_query_starts_at_the_end_by_default():
    query = Query(FakeView({A: (0, 5)}), startingOffsets="latest")
    assert query.batch() is None
    query.view.logs[A] = (0, 7)
    assert query.batch() == [OffsetRange("t", 0, 5, 7)]


def test_a_limit_is_kept_in_every_batch():
    query = Query(FakeView({A: (0, 30), B: (0, 10)}), maxOffsetsPerTrigger="20")
    assert query.batch() == [OffsetRange("t", 0, 0, 15), OffsetRange("t", 1, 0, 5)]
    assert query.batch() == [OffsetRange("t", 0, 15, 30), OffsetRange("t", 1, 5, 10)]
    assert query.batch() is None


def test_a_trigger_that_wants_everything_gets_it_in_spite_of_the_limit():
    query = Query(FakeView({A: (0, 30)}), maxOffsetsPerTrigger="20")
    assert query.batch(is_limited=False) == [OffsetRange("t", 0, 0, 30)]


def test_a_small_batch_waits_for_more_or_for_the_delay():
    query = Query(FakeView({A: (0, 1)}), minOffsetsPerTrigger="10", maxTriggerDelay="5s")
    assert query.batch() == [OffsetRange("t", 0, 0, 1)]
    query.view.logs[A] = (0, 4)
    assert query.batch() is None
    query.now_ms = 5_000
    assert query.batch() == [OffsetRange("t", 0, 1, 4)]
    query.view.logs[A] = (0, 14)
    assert query.batch() == [OffsetRange("t", 0, 4, 14)]


def test_available_now_ends_at_what_was_there_and_does_not_wait():
    query = Query(FakeView({A: (0, 30)}), maxOffsetsPerTrigger="20", minOffsetsPerTrigger="15")
    query.planner.stop_at_what_is_there()
    query.view.logs |= {A: (0, 100), B: (0, 100)}
    assert query.batch() == [OffsetRange("t", 0, 0, 20)]
    assert query.batch() == [OffsetRange("t", 0, 20, 30)]
    assert query.batch() is None


def test_new_partitions_and_topics_are_read_from_their_first_record():
    query = Query(FakeView({("t1", 0): (0, 5)}), subscribePattern="t.*")
    assert query.batch() == [OffsetRange("t1", 0, 0, 5)]
    query.view.logs |= {TopicPartition("t1", 1): (0, 2), TopicPartition("t2", 0): (0, 3)}
    assert query.batch() == [OffsetRange("t1", 1, 0, 2), OffsetRange("t2", 0, 0, 3)]


def test_a_new_partition_that_has_aged_already_is_a_loss():
    query = Query(FakeView({A: (0, 5)}))
    query.batch()
    query.view.logs[B] = (4, 6)
    with pytest.raises(DataLoss, match="offsets 0 to 3 of t-1 are lost"):
        query.batch()


def test_a_batch_that_is_planned_again_has_the_same_ranges():
    query = Query(FakeView({A: (0, 5)}))
    start = query.planner.initial()
    end = query.planner.latest(start, is_limited=True)
    first = query.planner.ranges(start, end)
    query.view.logs |= {A: (0, 50), B: (0, 7)}
    query.restart()
    assert query.planner.ranges(start, end) == first


def test_the_ends_last_seen_are_reported_for_the_lag():
    query = Query(FakeView({A: (0, 30)}), maxOffsetsPerTrigger="20")
    assert query.planner.last_seen() is None
    query.batch()
    assert query.position.positions == {A: 20}
    assert query.planner.last_seen().positions == {A: 30}


def test_a_reader_of_committed_records_stops_at_an_open_transaction():
    view = FakeView({A: (0, 30)})
    view.stable = {A: 12}
    query = Query(view, **{"kafka.isolation.level": "read_committed"})
    assert query.batch() == [OffsetRange("t", 0, 0, 12)]
    view.stable = {A: 8}  # a checkpoint of a reader that was not so careful
    assert query.batch() is None


# --- faults ---------------------------------------------------------------------------------------


def test_a_checkpoint_of_another_cluster_is_refused():
    query = Query(FakeView({A: (0, 5)}))
    query.batch()
    query.view.cluster = "cluster-2"
    with pytest.raises(ForeignCheckpoint, match=r"belongs to cluster cluster-1.*cluster-2"):
        query.batch()
    with pytest.raises(ForeignCheckpoint):
        query.planner.ranges(query.position, query.position)


def test_a_checkpoint_of_another_topic_is_refused():
    query = Query(FakeView({A: (0, 5), ("u", 0): (0, 5)}))
    query.batch()
    other = Query(query.view, subscribe="u", failOnDataLoss="false")
    other.position = query.position
    with pytest.raises(ForeignCheckpoint, match="query over t, and this one reads u"):
        other.batch()


def test_a_topic_that_was_made_anew_is_a_loss_even_if_it_has_grown_longer():
    query = Query(FakeView({A: (0, 5)}))
    query.batch()
    query.view.logs[A] = (0, 50)
    query.view.ids["t"] = b"another id, sure"
    query.restart()
    with pytest.raises(DataLoss, match="deleted and made anew"):
        query.batch()


def test_a_topic_that_is_made_anew_while_the_query_runs_is_noticed():
    query = Query(FakeView({A: (0, 5)}))
    query.batch()
    query.view.logs[A] = (0, 50)
    query.view.ids["t"] = b"another id, sure"
    with pytest.raises(DataLoss, match="deleted and made anew"):
        query.batch()


def test_a_topic_that_was_made_anew_is_read_from_its_start_if_losses_are_allowed():
    query = Query(FakeView({A: (0, 5)}), failOnDataLoss="false")
    query.batch()
    query.view.logs[A] = (0, 7)
    query.view.ids["t"] = b"another id, sure"
    query.restart()
    assert query.batch() == [OffsetRange("t", 0, 0, 7)]
    assert query.batch() is None


def test_a_planned_batch_does_not_take_its_offsets_from_a_topic_of_the_same_name():
    for fail_on_data_loss in ("true", "false"):
        query = Query(FakeView({A: (0, 5)}), failOnDataLoss=fail_on_data_loss)
        start = query.planner.initial()
        end = query.planner.latest(start, is_limited=True)
        query.view.ids["t"] = b"another id, sure"
        query.restart()
        if fail_on_data_loss == "true":
            with pytest.raises(DataLoss, match=r"offsets 0 to 4 of t-0 .* made anew"):
                query.planner.ranges(start, end)
        else:
            assert query.planner.ranges(start, end) == []
            query.position = end
            assert query.batch() == [OffsetRange("t", 0, 0, 5)]


def test_a_log_that_was_cut_is_a_loss():
    query = Query(FakeView({A: (0, 50)}))
    query.batch()
    query.view.logs[A] = (0, 20)
    with pytest.raises(DataLoss, match="offsets 20 to 49 of t-0 are lost"):
        query.batch()


def test_a_log_that_was_cut_is_followed_if_losses_are_allowed(caplog):
    query = Query(FakeView({A: (0, 50)}), failOnDataLoss="false")
    query.batch()
    query.view.logs[A] = (0, 20)
    assert query.batch() == []
    assert "offsets 20 to 49 of t-0" in caplog.text
    query.view.logs[A] = (0, 25)
    assert query.batch() == [OffsetRange("t", 0, 20, 25)]


@pytest.mark.parametrize("fail_on_data_loss", ["true", "false"])
def test_records_that_aged_out_while_the_query_was_down(fail_on_data_loss):
    query = Query(FakeView({A: (0, 50)}), failOnDataLoss=fail_on_data_loss)
    query.batch()
    query.view.logs[A] = (70, 90)
    query.restart()
    if fail_on_data_loss == "true":
        with pytest.raises(DataLoss, match="offsets 50 to 69 of t-0 are lost: they aged out"):
            query.batch()
    else:
        assert query.batch() == [OffsetRange("t", 0, 70, 90)]


def test_a_planned_batch_whose_records_were_cut_off():
    query = Query(FakeView({A: (0, 50)}))
    start = query.planner.initial()
    end = query.planner.latest(start, is_limited=True)
    query.view.logs[A] = (0, 20)
    query.restart()
    with pytest.raises(DataLoss, match="offsets 20 to 49"):
        query.planner.ranges(start, end)


def test_a_partition_that_is_gone():
    query = Query(FakeView({A: (0, 5), B: (0, 5)}), subscribePattern="t")
    query.batch()
    del query.view.logs[B]
    with pytest.raises(DataLoss, match="t-1 are lost: the partition is gone"):
        query.batch()


@pytest.mark.parametrize("fail_on_data_loss", ["true", "false"])
def test_a_topic_that_is_gone_when_its_batch_is_planned_again(fail_on_data_loss, caplog):
    view = FakeView({("t1", 0): (0, 5), ("t2", 0): (0, 7)})
    query = Query(view, subscribePattern="t.", failOnDataLoss=fail_on_data_loss)
    start = query.planner.initial()
    end = query.planner.latest(start, is_limited=True)
    del view.logs[TopicPartition("t2", 0)]
    query.restart()
    if fail_on_data_loss == "true":
        with pytest.raises(DataLoss, match="offsets 0 to 6 of t2-0 are lost: the partition is go"):
            query.planner.ranges(start, end)
    else:
        assert query.planner.ranges(start, end) == [OffsetRange("t1", 0, 0, 5)]
        assert len(caplog.messages) == 1


def test_a_topic_that_is_gone_is_missing():
    query = Query(FakeView({A: (0, 5), ("u", 0): (0, 5)}))
    query.batch()
    del query.view.logs[A]
    with pytest.raises(TopicMissing, match="topic t"):
        query.batch()


@pytest.mark.parametrize(
    ("offset", "message", "inside"),
    [(2, "offsets 2 to 9", 10), (99, "offsets 50 to 98", 50)],
)
def test_a_given_start_outside_of_the_log(offset, message, inside):
    start = json.dumps({"t": {"0": offset}})
    view = FakeView({A: (10, 50)})
    with pytest.raises(DataLoss, match=message):
        Query(view, startingOffsets=start).planner.initial()
    tolerant = Query(view, startingOffsets=start, failOnDataLoss="false")
    assert tolerant.planner.initial().positions == {A: inside}


def test_the_end_closes_the_view():
    query = Query(FakeView({A: (0, 5)}))
    query.planner.close()
    assert query.view.is_closed

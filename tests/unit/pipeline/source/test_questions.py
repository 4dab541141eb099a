from __future__ import annotations

import pytest

from headrace.model.topic import NO_TOPIC_ID, TopicPartition
from headrace.pipeline.errors import DataLoss, TopicMissing

from .fake_view import FakeView, options_of, questions_of

LOGS = {("t", 0): (0, 5), ("t", 1): (0, 5), ("tt", 0): (0, 5)}


def questions(view=None, **given):
    selection = {} if {"assign", "subscribePattern"} & given.keys() else {"subscribe": "t"}
    options = options_of({**selection, **given}, is_streaming=False)
    return questions_of(view or FakeView(LOGS), options)


@pytest.mark.parametrize(
    ("given", "selected"),
    [
        ({"subscribe": "tt,t"}, ["t-0", "t-1", "tt-0"]),
        ({"subscribePattern": "t"}, ["t-0", "t-1"]),
        ({"subscribePattern": "t+"}, ["t-0", "t-1", "tt-0"]),
        ({"subscribePattern": "x.*"}, []),
        ({"assign": '{"t": [1]}'}, ["t-1"]),
    ],
)
def test_what_is_selected(given, selected):
    assert [str(partition) for partition in questions(**given).selected()] == selected


@pytest.mark.parametrize("given", [{"subscribe": "t,u"}, {"assign": '{"u": [0]}'}])
def test_a_named_topic_must_be_there(given):
    with pytest.raises(TopicMissing, match="topic u"):
        questions(**given).selected()


def test_an_assigned_partition_must_be_there():
    with pytest.raises(TopicMissing, match="there is no partition t-4"):
        questions(assign='{"t": [0, 4]}').selected()


@pytest.mark.parametrize(
    "given", [{"subscribe": "t"}, {"subscribePattern": "t"}, {"assign": '{"t": [0]}'}]
)
def test_which_topics_the_options_speak_of(given):
    asked = questions(**given)
    assert asked.is_selected("t")
    assert not asked.is_selected("tt")


def test_a_broker_without_topic_ids_gives_empty_ones():
    view = FakeView(LOGS)
    view.ids = {"t": NO_TOPIC_ID, "tt": bytes(15) + b"\7"}
    assert questions(view).topic_ids(["t", "tt"]) == {"t": "", "tt": "00" * 15 + "07"}


def test_nothing_is_asked_about_no_partition():
    asked = questions(FakeView({}))
    assert asked.earliest([]) == asked.latest([]) == asked.latest_uncommitted([]) == {}


def test_a_loss_is_an_error_or_a_warning(caplog):
    partition = TopicPartition("t", 0)
    with pytest.raises(DataLoss, match="offsets 2 to 4 of t-0 are lost: moths"):
        questions().admit_loss(partition, 2, 5, "moths")
    questions(failOnDataLoss="false").admit_loss(partition, 2, 5, "moths")
    assert "offsets 2 to 4 of t-0 are passed over: moths" in caplog.text

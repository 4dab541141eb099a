"""Errors that cross process borders."""

from __future__ import annotations

import inspect
import logging
import pickle

import pytest

from headrace.model.topic import TopicPartition
from headrace.pipeline import errors
from headrace.pipeline.errors import DataLoss, PipelineError
from headrace.pipeline.losses import admit_loss

NAMED = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, PipelineError) and kind is not DataLoss
]


@pytest.mark.parametrize("kind", NAMED)
def test_error_survives_a_trip_to_another_process(kind: type[PipelineError]):
    copy = pickle.loads(pickle.dumps(kind("what happened")))
    assert type(copy) is kind
    assert copy.message == "what happened"


def test_data_loss_keeps_its_offsets():
    loss = DataLoss("t", 3, 10, 20, "the log starts at 20 now")
    copy = pickle.loads(pickle.dumps(loss))
    assert (copy.topic, copy.partition) == ("t", 3)
    assert (copy.first_offset, copy.next_offset) == (10, 20)
    assert copy.message == loss.message
    assert "offsets 10 to 19 of t-3 are lost: the log starts at 20 now" in loss.message


def test_fatal_loss_is_raised():
    with pytest.raises(DataLoss, match="offsets 1 to 4 of t-0"):
        admit_loss(TopicPartition("t", 0), 1, 5, "gone", is_fatal=True)


def test_other_loss_is_a_warning(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        admit_loss(TopicPartition("t", 0), 1, 5, "gone", is_fatal=False)
    assert "offsets 1 to 4 of t-0 are passed over: gone" in caplog.text

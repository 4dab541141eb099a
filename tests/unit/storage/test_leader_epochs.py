"""Which epoch began where."""

from __future__ import annotations

import pytest

from headrace.storage.leader_epochs import LeaderEpochs
from headrace.testing.faulty_disk import FaultyDisk


@pytest.fixture
def epochs() -> LeaderEpochs:
    known = LeaderEpochs(FaultyDisk(), "epochs")
    known.assign(1, 0)
    known.assign(3, 10)
    known.assign(7, 25)
    return known


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (-1, (-1, -1)),
        (0, (0, 0)),
        (1, (1, 10)),
        (2, (1, 10)),
        (3, (3, 25)),
        (7, (7, 40)),
        (8, (-1, -1)),
    ],
)
def test_end_of_an_epoch(epochs, asked, answer):
    assert epochs.end_offset_for(asked, 40) == answer


def test_no_epoch_is_known_to_an_empty_log():
    assert LeaderEpochs(None, "").end_offset_for(0, 0) == (-1, -1)


def test_older_epoch_is_not_assigned(epochs):
    epochs.assign(5, 30)
    assert epochs.latest == 7


def test_epoch_without_records_leaves_no_trace(epochs):
    epochs.assign(8, 25)
    assert epochs.pairs == [(1, 0), (3, 10), (8, 25)]


def test_epoch_at_an_offset(epochs):
    assert [epochs.epoch_at(offset) for offset in (0, 9, 10, 24, 25, 99)] == [1, 1, 3, 3, 7, 7]


def test_epochs_follow_both_ends_of_the_log(epochs):
    epochs.truncate_from_end(25)
    assert epochs.pairs == [(1, 0), (3, 10)]
    epochs.truncate_from_start(4)
    assert epochs.pairs == [(1, 4), (3, 10)]
    epochs.truncate_from_start(12)
    assert epochs.pairs == [(3, 12)]


def test_epochs_survive_in_the_file():
    disk = FaultyDisk()
    LeaderEpochs(disk, "epochs").assign(4, 2)
    assert LeaderEpochs(disk, "epochs").pairs == [(4, 2)]
    disk.replace_file("epochs", b"rubbish")
    assert LeaderEpochs(disk, "epochs").pairs == []

"""The judge of the word count: every word's counts are 1, 2, 3 ... up to how often it was sent."""

from __future__ import annotations

import pytest

from headrace.testing.history import Fault
from soak.streams.tally import Tally


def judged(counts, sent):
    tally = Tally()
    for word, count in counts:
        tally.read(word, count)
    return tally.report(sent)


def test_all_words_counted_once_are_clean():
    report = judged([("a", 1), ("b", 1), ("a", 2)], {"a": 2, "b": 1})
    assert report.is_clean
    assert report.counts == {"words sent": 3, "words counted": 3, "different words": 2}


@pytest.mark.parametrize(
    ("counts", "sent", "fault"),
    [
        ([("a", 1), ("a", 1)], {"a": 1}, Fault.DUPLICATED),
        ([("a", 1), ("a", 3)], {"a": 3}, Fault.GAP),
        ([("a", 1)], {"a": 2}, Fault.LOST),
        ([("a", 1), ("a", 2)], {"a": 1}, Fault.PHANTOM),
        ([("a", 1)], {}, Fault.PHANTOM),
    ],
)
def test_wrong_counts_are_found(counts, sent, fault):
    assert judged(counts, sent).violations == {fault: 1}

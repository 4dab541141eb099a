"""The judge of exactly once is judged: every fault is put into an output and must be found."""

from __future__ import annotations

import pytest

from headrace.testing.history import Fault
from headrace.testing.history_transactions import PipelineHistory, Result, result_of

INPUT_PARTITIONS = 2
RECORDS = 6


def results(transaction, *numbers, doomed=False):
    return [Result(n, result_of(n), transaction, len(numbers), doomed) for n in numbers]


CLEAN = [
    *results("a/0", 0, 1, 2),
    *results("a/1", 3, 4, doomed=True),
    *results("b/0", 3),
    *results("a/2", 4, 5),
]


def judged(
    log, *, is_hidden=lambda result: result.is_doomed, acknowledged=("a/0",), aborted=("a/1",)
):
    history = PipelineHistory(RECORDS, INPUT_PARTITIONS)
    for transaction in acknowledged:
        history.acknowledged(transaction)
    for transaction in aborted:
        history.aborted(transaction)
    for offset, result in enumerate(log):
        if not is_hidden(result):
            history.read_committed(0, offset, result.to_value())
    for offset, result in enumerate(log):
        history.read_uncommitted(0, offset, result.to_value())
    return history.report()


def test_clean_output_is_clean_and_counted():
    report = judged(CLEAN)
    assert report.is_clean
    assert report.counts["sum read as committed"] == report.counts["sum of all results"]
    assert report.counts["records read as committed"] == RECORDS
    assert report.counts["of them aborted on purpose"] == 2
    assert report.counts["of them aborted otherwise"] == 0
    assert report.counts["transactions committed"] == 3


def test_results_of_a_killed_processor_are_not_taken_for_aborted_on_purpose():
    report = judged(
        [*results("a/9", 0, 1), *CLEAN], is_hidden=lambda r: r.is_doomed or r.transaction == "a/9"
    )
    assert report.is_clean
    assert report.counts["of them aborted otherwise"] == 2


def test_lost_input_is_found():
    assert judged([*CLEAN[:5], *results("b/0", 3), *results("a/2", 4)]).violations == {
        Fault.LOST: 1
    }


def test_lost_transaction_that_was_acknowledged_is_found():
    assert judged(CLEAN, acknowledged=("a/0", "c/7")).violations == {Fault.LOST: 1}


def test_second_result_of_one_input_is_found():
    assert judged([*CLEAN, *results("b/1", 5)]).violations == {Fault.DUPLICATED: 1}


@pytest.mark.parametrize("aborted", [("a/1",), ()])
def test_aborted_record_that_is_shown_is_found(aborted):
    report = judged(CLEAN, is_hidden=lambda result: False, aborted=aborted)
    assert report.violations == {Fault.ABORTED_READ: 2}


def test_torn_transaction_is_found():
    halves = [*results("a/2", 4, 5)]
    log = [*CLEAN[:6], halves[0], *results("b/1", 5), halves[1]]
    report = judged(log, is_hidden=lambda r: r.is_doomed or r is halves[1])
    assert report.violations == {Fault.TORN: 1}


def test_order_of_an_input_partition_is_checked():
    log = [*results("a/0", 0, 1, 2), *results("b/0", 5), *results("a/2", 3), *results("b/1", 4)]
    assert judged(log).violations == {Fault.REORDERED: 1}


def test_foreign_records_are_found():
    foreign = [Result(99, result_of(99), "x/0", 1, False), Result(0, 1, "x/1", 1, False)]
    assert judged([*CLEAN, *foreign]).violations == {Fault.PHANTOM: 2, Fault.WRONG_CONTENT: 2}


def test_committed_record_that_read_uncommitted_does_not_see_is_found():
    history = PipelineHistory(1, 1)
    history.read_committed(0, 0, results("a/0", 0)[0].to_value())
    assert history.report().violations == {Fault.VANISHED: 1}


def test_hanging_transaction_is_reported():
    history = PipelineHistory(0, 1)
    history.hanging(0, 5, 7)
    assert history.report().violations == {Fault.HANGING: 1}


@pytest.mark.parametrize("value", [b"", b"1 38 a/0 1", b"1 38 a/0 1 maybe", b"x 38 a/0 1 commit"])
def test_only_what_a_processor_writes_is_a_result(value):
    assert Result.maybe_from_value(value) is None


def test_value_of_a_result_has_all_of_it():
    result = Result(1, result_of(1), "a.0/7", 3, True)
    assert result.to_value() == b"1 38 a.0/7 3 abort"
    assert Result.maybe_from_value(result.to_value()) == result

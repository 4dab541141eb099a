"""What the broker tells of where a log starts and ends is judged by what was known before."""

from __future__ import annotations

from headrace.testing.history import Fault
from tests.unit.testing.history_bench import Bench


def test_high_watermark_below_an_acknowledged_record_went_back() -> None:
    bench = Bench()
    bench.produce(4)
    bench.partition.observe(0, 3)
    assert bench.found == {}
    bench.partition.observe(0, 3, bench.partition.expect())
    assert bench.found == {Fault.WATERMARK_WENT_BACK: 1}


def test_log_start_that_goes_back_is_found() -> None:
    bench = Bench()
    bench.produce(4)
    bench.partition.allow_deletion_before(3)
    bench.partition.observe(3, 4)
    bench.partition.observe(2, 4, bench.partition.expect())
    assert bench.found == {Fault.LOG_START_WENT_BACK: 1}


def test_high_watermark_below_one_that_was_told_before_went_back() -> None:
    bench = Bench()
    bench.partition.observe(0, 4)
    bench.partition.observe(0, 3, bench.partition.expect())
    assert bench.found == {Fault.WATERMARK_WENT_BACK: 1}


def test_answers_may_be_judged_in_another_order_than_they_were_given() -> None:
    bench = Bench()
    bench.produce(4)
    bench.partition.allow_deletion_before(2)
    early = bench.partition.expect()
    late = bench.partition.expect()
    bench.partition.observe(2, 5, late)
    bench.partition.observe(0, 4, early)
    assert bench.found == {}
    assert bench.partition.expect() == (2, 5)


def test_log_start_beyond_what_is_allowed_was_deleted_early() -> None:
    bench = Bench()
    bench.produce(4)
    bench.partition.allow_deletion_before(2)
    bench.partition.observe(2, 4)
    assert bench.found == {}
    bench.partition.observe(3, 4)
    assert bench.found == {Fault.DELETED_EARLY: 1}

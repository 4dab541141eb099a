"""Status and progress: rates, lag, and what survives being written."""

from __future__ import annotations

import json
from types import SimpleNamespace

from headrace.pipeline.jobs.progress import JobProgress, from_engine, from_query, lag_between
from headrace.pipeline.jobs.status import (
    ERROR_LENGTH_MAX,
    JobState,
    JobStatus,
    folded,
    status_from_json,
    with_error,
)

START = JobStatus(job="j", kind="parquet", source="orders", target="delta /lake", updated_ms=0)


def test_batches_add_up() -> None:
    first = JobProgress(100, 1, 2, 1_000, {"orders": {"0": 100}}, 50)
    status = folded(folded(START, first, 1_000), JobProgress(50, lag_records=0), 2_000)
    assert (status.rows, status.parked_rows, status.files, status.size_bytes) == (150, 1, 2, 1_000)
    assert (status.batches, status.lag_records, status.state) == (2, 0, JobState.RUNNING)
    assert status.positions == {"orders": {"0": 100}}


def test_look_that_found_nothing_is_no_batch() -> None:
    assert folded(START, JobProgress(lag_records=0), 1_000).batches == 0


def test_rate_follows_the_last_half_minute() -> None:
    status = folded(START, JobProgress(rows=1_000), 1_000)
    assert status.rows_per_second == 1_000
    for second in range(2, 62):
        status = folded(status, JobProgress(rows=100), second * 1_000)
    assert 100 < status.rows_per_second < 300


def test_status_survives_being_written() -> None:
    status = with_error(START, JobState.RESTARTING, "x" * 9_999, 7)
    assert status.last_error == "x" * ERROR_LENGTH_MAX
    later = {**json.loads(status.dumps()), "field of a later version": 1}
    assert status_from_json(json.dumps(later)) == status


def test_progress_of_the_engine() -> None:
    told = SimpleNamespace(
        rows=5,
        parked_rows=1,
        files=2,
        size_bytes=9,
        positions={"orders": {0: 6, 1: 4}},
        ends={"orders": {0: 10, 1: 4, 2: 3}},
    )
    expected = JobProgress(5, 1, 2, 9, {"orders": {"0": 6, "1": 4}}, 7)
    assert from_engine(told) == expected


def test_progress_of_a_query() -> None:
    told = {
        "numInputRows": 4,
        "sources": [
            {"endOffset": {"@cluster": "c", "t": {"0": 4}}, "latestOffset": '{"t": {"0": 9}}'}
        ],
    }
    assert from_query(told) == JobProgress(rows=4, positions={"t": {"0": 4}}, lag_records=5)


def test_progress_of_a_query_over_something_else() -> None:
    told = {"numInputRows": 4, "sources": [{"endOffset": 7, "latestOffset": None}, {}]}
    assert from_query(told) == JobProgress(rows=4)


def test_lag_is_never_negative() -> None:
    assert lag_between({"t": {"0": 9}}, {"t": {"0": 5}}) == 0

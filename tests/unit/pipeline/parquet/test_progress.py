"""Sums and rates."""

from __future__ import annotations

from headrace.pipeline.parquet.progress import ParquetProgress, ParquetReport

ONE = ParquetProgress(3, 10, 1, 2, 100, {"t": {0: 5}}, {"t": {0: 7, 1: 4}}, 0.5)


def test_lag_counts_partitions_that_are_new() -> None:
    assert ONE.lag_records == 2 + 4


def test_rates() -> None:
    assert ONE.rows_per_second == 20.0
    assert ONE._replace(seconds=0.0).rows_per_second == 0.0


def test_a_report_adds_up() -> None:
    assert ParquetReport().plus(ONE).plus(ONE) == ParquetReport(2, 20, 2, 4, 200, 0.0)

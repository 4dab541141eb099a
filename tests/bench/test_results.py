"""The files of a run."""

from __future__ import annotations

import json

import pytest

from bench.figures import Figure, Point, Series
from bench.outcomes import CurveOutcome, FigureOutcome, Report, WorkOutcome
from bench.plots import write_plots
from bench.results import write_results

SERIES = Series("rate by partitions", "partitions", "records/s", (Point(1, 10), Point(1000, 5)))


def latencies(name, headrace, kafka):
    return FigureOutcome(
        Figure(name, "ms", "lower", 0.5), {"headrace": (headrace,), "kafka": (kafka,)}
    )


def report():
    figures = (latencies("p50", 1, 4), latencies("p99", 2, 3), latencies("p99.9", 3, 4))
    work = WorkOutcome("end-to-end", "End to end", "page cache", figures)
    curve = CurveOutcome("growth", "Growth", "page cache", {"headrace": (SERIES,)}, "kafka: no")
    return Report("2026-01-02", "full", 1.0, 45.0, {"cores": "2"}, works=[work], curves=[curve])


def test_json_has_every_value_of_every_round_and_every_point(tmp_path):
    write_results(tmp_path / "results", report(), [])
    found = json.loads((tmp_path / "results" / "latest.json").read_text())
    figure = found["works"][0]["figures"][1]
    assert figure["rounds"] == {"headrace": [2], "kafka": [3]}
    assert figure["ratio"]["median"] == 2 / 3
    assert figure["verdict"] == "missed"
    assert found["curves"][0]["series"][0]["points"] == [[1, 10], [1000, 5]]
    assert found["curves"][0]["error"] == "kafka: no"
    assert found["machine"] == {"cores": "2"}


@pytest.mark.slow
def test_markdown_has_machine_table_summary_and_plots(tmp_path):
    plots = write_plots(tmp_path, report())
    write_results(tmp_path, report(), plots)
    text = (tmp_path / "latest.md").read_text()
    assert "cores: 2" in text
    assert "| End to end | p99 | ms | page cache |" in text
    assert "Failed: growth: kafka: no" in text
    assert "![ratios](ratios.png)" in text


@pytest.mark.slow
def test_plots_are_written_for_what_was_measured(tmp_path):
    names = [path.name for path in write_plots(tmp_path, report())]
    assert names == ["ratios.png", "latency.png", "growth.png"]
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in names)


def test_a_run_without_kafka_and_curves_has_no_plot_of_ratios(tmp_path):
    alone = Report("2026-01-02", "quick", 1.0, 20.0, {}, "no Java")
    assert write_plots(tmp_path, alone) == []

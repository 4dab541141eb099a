"""The files of a run, and the figures in the documentation."""

from __future__ import annotations

import json

import pytest

from bench.lake import document
from bench.lake.machine import connector_versions
from bench.lake.outcomes import BY_PARTITIONS, BY_SIZE
from bench.lake.plots import write_plots
from bench.lake.results import as_markdown, write_results
from bench.lake.tables import figures_sheet, growth_sheet, summary
from bench.readme import MarkersMissing
from tests.bench.lake_reports import report, with_growth


def test_json_has_every_run_and_every_point(tmp_path):
    write_results(tmp_path / "results", with_growth(report()), [])
    found = json.loads((tmp_path / "results" / "lake.json").read_text())
    assert len(found["runs"]) == 8
    assert found["runs"][0]["route"] == "engine"
    assert found["runs"][0]["rows_per_second"] == pytest.approx(3_000_000)
    assert [bar["verdict"] for bar in found["bars"]] == ["ok", "ok", "missed", "missed"]
    assert found["growth"][0] == {"curve": "partitions", "x": 1, "run": found["growth"][0]["run"]}
    assert len(found["growth"]) == 2 * 3 + 2 * 2


def test_figures_are_medians_and_rates_have_their_spread():
    sheet = figures_sheet(report())
    assert [row[1] for row in sheet.rows][:2] == ["Headrace's engine", 'format("headrace")']
    assert sheet.rows[0][:4] == (
        *("100 B", "Headrace's engine", "3,300,000 (3,000,000..3,600,000)", "383"),
    )
    assert all(len(row) == len(sheet.headings) for row in sheet.rows)


def test_growth_has_a_line_for_each_point_and_a_column_for_each_way():
    made = with_growth(report())
    assert growth_sheet(made, BY_PARTITIONS).rows[2] == ("16", "16,000", "16,000")
    assert growth_sheet(made, BY_SIZE).headings == (
        *("GB", "Headrace's engine", 'format("kafka") on Headrace'),
    )
    assert growth_sheet(report(), BY_SIZE).rows == []


def test_markdown_has_machine_bars_figures_growth_and_plots():
    text = as_markdown(with_growth(report()), ["lake.png"])
    assert "cores: 2" in text
    assert (
        "| 100 B | Headrace's engine: rows/s, of the best connector run's | ok |"
        " 8.25 (7.5..9) | >= 8 |" in text
    )
    assert "Rows/s by the number of partitions" in text
    assert "![lake](lake.png)" in text


def test_the_summary_says_what_is_missing_left_out_and_failed():
    made = report(missing="no Maven")
    made.left_out.append("20 GB on kafka: 44 GB of disk wanted, 40 GB free")
    made.errors.append("source, round 2: DriverFailed: gone")
    lines = summary(made)
    assert lines[0] == "Not all ways were run: no Maven."
    assert lines[1].startswith("4 bars, 2 met, 2 missed.")
    assert "Batches compressed with lz4, 4 partitions, 2 rounds" in lines[2]
    assert lines[3:] == [
        "Left out: 20 GB on kafka: 44 GB of disk wanted, 40 GB free",
        "Failed: source, round 2: DriverFailed: gone",
    ]


@pytest.mark.slow
def test_plots_are_written_for_what_was_measured(tmp_path):
    assert [path.name for path in write_plots(tmp_path, report())] == ["lake.png"]
    names = [path.name for path in write_plots(tmp_path, with_growth(report()))]
    assert names == ["lake.png", "lake_growth.png"]
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in names)


def test_figures_replace_what_stood_between_the_markers_of_the_page(tmp_path):
    page = tmp_path / "performance-lake.md"
    page.write_text(f"before {document.BEGIN}\nold\n{document.END} after")
    document.update(page, report())
    document.update(page, with_growth(report()))
    text = page.read_text()
    assert text == (
        f"before {document.BEGIN}\n{document.section(with_growth(report()))}{document.END} after"
    )
    assert "(../bench/results/lake_growth.png)" in text
    page.write_text("nothing")
    with pytest.raises(MarkersMissing):
        document.update(page, report())


def test_the_connector_is_told_by_its_jars():
    jars = ("/x/commons-pool2-2.jar", "/x/spark-sql-kafka-0-10_2.13-4.2.0.jar")
    assert connector_versions(jars) == "spark-sql-kafka-0-10_2.13-4.2.0"
    assert connector_versions(()) == ""

"""Rows as text, on the screen and in Markdown."""

from __future__ import annotations

import pytest
from rich.console import Console

from bench.figures import Figure
from bench.outcomes import FigureOutcome, Report, WorkOutcome
from bench.table import markdown_table, number, rows_of, screen_table, summary

WORKS = [
    WorkOutcome(
        "produce",
        "Produce 100 B",
        "page cache",
        (
            FigureOutcome(
                Figure("rate", "records/s", "higher", 1.0),
                {"headrace": (1_200_000.0, 1_000_000.0), "kafka": (1_000_000.0, 1_000_000.0)},
            ),
            FigureOutcome(
                Figure("broker CPU", "s per GB", "lower", 0.5),
                {"headrace": (0.6,), "kafka": (1.0,)},
            ),
        ),
    ),
    WorkOutcome(
        "alone",
        "Alone",
        "fsync per request",
        (FigureOutcome(Figure("p50", "us", "lower"), {"headrace": (12.34,)}),),
    ),
]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1_234_567.8, "1,234,568"),
        (123.4, "123"),
        (12.34, "12.3"),
        (1.234, "1.23"),
        (0.1234, "0.123"),
    ],
)
def test_numbers_show_the_digits_that_count(value, text):
    assert number(value) == text


def test_a_row_has_durability_medians_ratio_with_spread_bar_and_verdict():
    rows = rows_of(WORKS)
    assert rows[0] == (
        *("Produce 100 B", "rate", "records/s", "page cache", "1,100,000", "1,000,000"),
        *("1.10 (1.00..1.20)", ">= 1", "ok"),
    )
    assert rows[1][6:] == ("0.60 (0.60..0.60)", "<= 0.5", "missed")
    assert rows[2][3:] == ("fsync per request", "12.3", "-", "-", "-", "-")


def test_markdown_has_one_line_for_each_row_under_the_headings():
    lines = markdown_table(WORKS).splitlines()
    assert len(lines) == 2 + 3
    assert lines[0].startswith("| work | figure | unit | durability | Headrace | Kafka |")
    assert all(line.count("|") == 10 for line in lines)


def test_the_screen_shows_the_title_of_a_work_once():
    console = Console(width=160)
    with console.capture() as capture:
        console.print(screen_table(WORKS))
    assert capture.get().count("Produce 100 B") == 1
    assert "missed" in capture.get()


def test_the_summary_says_what_was_missed_failed_and_why_kafka_is_absent():
    report = Report("now", "quick", 0.4, 20.0, {}, "mvn not on this machine", 90.0, WORKS)
    lines = summary(report)
    assert lines[0] == "Headrace alone: mvn not on this machine, so there are no ratios."
    assert lines[1].startswith("2 bars, 1 met, 1 missed.")
    assert "warmed for 20 s" in lines[2]

"""The figures in the README."""

from __future__ import annotations

import pytest

from bench.readme import BEGIN, END, MarkersMissing, section, update
from tests.bench.test_results import report


def test_figures_replace_what_stood_between_the_markers(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"before {BEGIN}\nold\n{END} after")
    update(readme, report())
    update(readme, report())
    assert readme.read_text() == f"before {BEGIN}\n{section(report())}{END} after"


def test_only_figures_with_a_bar_are_shown():
    text = section(report())
    assert "| End to end | p50 | ms | 1.00 | 4.00 | 0.25 (0.25..0.25) | <= 0.5 | ok |" in text
    assert text.count("End to end") == 3
    assert "cores: 2" in text


def test_readme_without_a_place_is_an_error(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("nothing")
    with pytest.raises(MarkersMissing):
        update(readme, report())

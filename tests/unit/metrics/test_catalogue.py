"""Names of metrics: one style, all documented, and none in the dashboard that does not exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from headrace.metrics.catalogue import CATALOGUE, MetricKind

DOCS = Path(__file__).parents[3] / "docs"
UNITS = ("_bytes", "_seconds", "_records", "_offset")
COUNTED = ("_open", "_fetches", "_sessions", "_files", "_members", "_logs", "_info")
COUNTED += ("_topics", "_processes")
PROCESS_METRICS = {
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
}


def sample_names() -> set[str]:
    names = set(PROCESS_METRICS)
    for metric in CATALOGUE.values():
        if metric.kind is MetricKind.HISTOGRAM:
            names |= {f"{metric.name}_{part}" for part in ("bucket", "sum", "count")}
        else:
            names.add(metric.name)
    return names


def dashboard() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((DOCS / "grafana-dashboard.json").read_text())
    return loaded


def expressions() -> list[str]:
    targets = [target["expr"] for panel in dashboard()["panels"] for target in _targets(panel)]
    queries = [
        variable["query"]["query"]
        for variable in dashboard()["templating"]["list"]
        if variable["type"] == "query"
    ]
    return targets + queries


def _targets(panel: dict[str, Any]) -> list[dict[str, str]]:
    targets: list[dict[str, str]] = panel.get("targets", [])
    return targets


@pytest.mark.parametrize("metric", CATALOGUE.values(), ids=lambda metric: metric.name)
def test_name_has_prefix_kind_and_unit(metric: Any) -> None:
    assert re.fullmatch(r"headrace_[a-z_]+", metric.name)
    assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER)
    if metric.kind is not MetricKind.COUNTER:
        assert metric.name.endswith(UNITS + COUNTED)
    assert metric.help.endswith(".")


def test_dashboard_uses_only_metrics_that_exist() -> None:
    used = {
        name for text in expressions() for name in re.findall(r"\b(?:headrace|process)_\w+", text)
    }
    assert used
    assert used <= sample_names()


def test_dashboard_shows_every_metric() -> None:
    text = "\n".join(expressions())
    assert [name for name in CATALOGUE if name not in text] == []


def test_dashboard_groups_only_by_labels_that_exist() -> None:
    labels = {label for metric in CATALOGUE.values() for label in metric.labels}
    labels |= {"le", "instance"}
    for text in expressions():
        for grouping in re.findall(r"by \(([^)]*)\)", text):
            assert {label.strip() for label in grouping.split(",")} <= labels


def test_dashboard_panels_have_distinct_ids() -> None:
    ids = [panel["id"] for panel in dashboard()["panels"]]
    assert len(set(ids)) == len(ids)


def test_documentation_lists_every_metric_as_it_is() -> None:
    text = (DOCS / "metrics.md").read_text()
    for metric in CATALOGUE.values():
        labels = ", ".join(f"`{label}`" for label in metric.labels) or "-"
        row = f"| `{metric.name}` | {metric.kind.value} | {labels} | {metric.help} |"
        assert row in text
    assert set(re.findall(r"`(headrace_\w+)`", text)) - {"headrace_"} == set(CATALOGUE)

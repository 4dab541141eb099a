"""A report with plots from the lake's tables, by DuckDB and matplotlib.

python report.py LAKE OUT
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from lake import TABLES, connect

if TYPE_CHECKING:
    import duckdb

STEPS = ("view", "cart", "checkout", "buy")
RECENT = "timestamp > (SELECT max(timestamp) - INTERVAL 3 HOUR FROM {table})"

COUNTS = """
SELECT count(*), count(DISTINCT ("partition", "offset")), min(timestamp), max(timestamp) FROM {view}
"""
REQUESTS = f"""
SELECT time_bucket(INTERVAL 5 MINUTE, timestamp) AS bucket,
       count(*) FILTER (status < 500) AS good, count(*) FILTER (status >= 500) AS failed
FROM web_logs WHERE {RECENT.format(table="web_logs")} GROUP BY bucket ORDER BY bucket
"""
LATENCY = f"""
SELECT route, time_bucket(INTERVAL 5 MINUTE, timestamp) AS bucket,
       quantile_cont(duration_ms, 0.95) AS p95
FROM web_logs WHERE {RECENT.format(table="web_logs")} GROUP BY ALL ORDER BY bucket
"""
PROCESSOR = f"""
SELECT host, time_bucket(INTERVAL 5 MINUTE, timestamp) AS bucket, avg(cpu_percent) AS cpu
FROM metrics WHERE {RECENT.format(table="metrics")} GROUP BY ALL ORDER BY bucket
"""
LATE = """
SELECT date_diff('minute', timestamp, max(timestamp) OVER (
         PARTITION BY "partition" ORDER BY "offset")) / 60.0 AS hours
FROM {view} QUALIFY hours >= 1
"""
FUNNEL = "SELECT event, count(*), sum(cents) / 100.0 FROM user_events GROUP BY event"
CAMPAIGNS = """
SELECT coalesce(campaign, 'before it was sent') AS name, count(*) FILTER (event = 'buy') AS bought,
       round(100.0 * bought / count(*), 1) AS percent
FROM user_events GROUP BY name ORDER BY name
"""
PARKED = "SELECT topic, reason, count(*) AS records FROM parked GROUP BY ALL ORDER BY ALL"


def plot_web(lake: duckdb.DuckDBPyConnection, path: Path) -> None:
    figure, (above, below) = plt.subplots(2, 1, figsize=(9, 6), sharex=True, layout="constrained")
    rows = lake.execute(REQUESTS).fetchall()
    times = [row[0] for row in rows]
    above.stackplot(times, [r[1] for r in rows], [r[2] for r in rows], labels=["good", "failed"])
    above.set_ylabel("requests in 5 minutes")
    above.legend(loc="lower left")
    for route, series in grouped(lake.execute(LATENCY).fetchall()).items():
        below.plot(*zip(*series, strict=True), label=route)
    below.set_ylabel("p95 of the duration, ms")
    below.legend(loc="upper left", ncols=3)
    figure.autofmt_xdate()
    figure.savefig(path, dpi=110)


def plot_hosts(lake: duckdb.DuckDBPyConnection, path: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for host, series in grouped(lake.execute(PROCESSOR).fetchall()).items():
        left.plot(*zip(*series, strict=True), label=host)
    left.set_ylabel("processor, %")
    left.legend(loc="lower left")
    left.tick_params(axis="x", rotation=30)
    late = {
        table.topic: [row[0] for row in lake.execute(LATE.format(view=table.view)).fetchall()]
        for table in TABLES
    }
    right.hist(list(late.values()), bins=26, stacked=True, label=list(late))
    right.set_xlabel("hours late")
    right.set_ylabel("records")
    right.legend()
    figure.savefig(path, dpi=110)


def plot_funnel(lake: duckdb.DuckDBPyConnection, path: Path) -> None:
    ends = {row[0]: row[1] for row in lake.execute(FUNNEL).fetchall()}
    reached = [sum(ends.get(step, 0) for step in STEPS[index:]) for index in range(len(STEPS))]
    figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
    bars = axes.barh(STEPS[::-1], reached[::-1])
    axes.bar_label(bars, padding=3)
    axes.set_xlabel("visits that came this far")
    figure.savefig(path, dpi=110)


def grouped(rows: list[tuple[Any, ...]]) -> dict[str, list[tuple[Any, Any]]]:
    """Series by the first column."""
    series: dict[str, list[tuple[Any, Any]]] = {}
    for name, x, y in rows:
        series.setdefault(name, []).append((x, y))
    return series


def table_text(heads: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def write_report(lake_path: Path, out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    lake = connect(lake_path)
    for plot in (plot_web, plot_hosts, plot_funnel):
        plot(lake, out / f"{plot.__name__.removeprefix('plot_')}.png")
    counts: list[tuple[Any, ...]] = []
    for table in TABLES:
        row = lake.execute(COUNTS.format(view=table.view)).fetchone()
        assert row is not None
        counts.append(
            (table.topic, table.format, row[0], row[1], f"{row[2]:%F %R}", f"{row[3]:%F %R}")
        )
    heads = ("topic", "table", "records", "offsets", "oldest", "newest")
    text = "\n\n".join(
        [
            "# The lake",
            table_text(heads, counts),
            "## Requests\n\n![requests](web.png)",
            "## Hosts, and records that came late\n\n![hosts](hosts.png)",
            "## From a view to a purchase\n\n![funnel](funnel.png)",
            "Purchases by campaign. The field came with a new version; older records have none.",
            table_text(("campaign", "bought", "percent"), lake.execute(CAMPAIGNS).fetchall()),
            "## Bad records, kept aside with their reasons",
            table_text(("topic", "reason", "records"), lake.execute(PARKED).fetchall()),
        ]
    )
    path = out / "report.md"
    path.write_text(text + "\n")
    return path


if __name__ == "__main__":
    print(f"report: {write_report(Path(sys.argv[1]), Path(sys.argv[2]))}")

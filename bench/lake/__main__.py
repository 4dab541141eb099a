"""Topics to Parquet four ways, in the same run: `python -m bench.lake --help`."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from bench.__main__ import RESULTS_DIRECTORY, end_on_signal
from bench.lake import document
from bench.lake.batches import CODECS
from bench.lake.outcomes import BY_PARTITIONS, BY_SIZE
from bench.lake.plan import (
    FULL,
    GROWTH_GIGABYTES,
    GROWTH_PARTITIONS,
    PARTIAL,
    PARTITIONS,
    QUICK,
    ROUNDS_FULL,
    ROUNDS_QUICK,
    SCALE_QUICK,
    Plan,
)
from bench.lake.plots import write_plots
from bench.lake.results import write_results
from bench.lake.routes import BY_NAME, ROUTES
from bench.lake.run import Run
from bench.lake.tables import bars_sheet, figures_sheet, growth_sheet, screen, summary
from bench.peers import KAFKA, kafka_missing
from tests.pipeline.connector_jars import connector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.lake.outcomes import Report
    from bench.lake.routes import Route

PAGE = Path(__file__).parents[2] / "docs" / "performance-lake.md"
TABLE_WIDTH_MIN = 170
NEEDED = ("pyspark", "pyarrow", "numba", "duckdb")


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.lake", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small topics, under 3 minutes")
    parser.add_argument("--scale", type=float, help=f"amount of records (1, quick {SCALE_QUICK})")
    parser.add_argument("--rounds", type=int, help=f"({ROUNDS_FULL}, quick {ROUNDS_QUICK})")
    parser.add_argument("--codec", choices=list(CODECS), default="lz4", help="of the batches")
    parser.add_argument("--partitions", type=int, default=PARTITIONS, help="of the topics")
    parser.add_argument(
        "--parquet-codec", choices=["snappy", "zstd"], default="snappy", help="of all files"
    )
    parser.add_argument("--route", action="append", choices=list(BY_NAME), help="only this way")
    parser.add_argument(
        "--growth",
        action=argparse.BooleanOptionalAction,
        help="with 1, 4, 16 partitions and by size (yes, quick no)",
    )
    parser.add_argument(
        "--sizes-gb", type=float, nargs="*", default=list(GROWTH_GIGABYTES), metavar="GB"
    )
    parser.add_argument("--results", type=Path, metavar="DIR", help="where JSON and plots go")
    parser.add_argument("--work-dir", type=Path, default=Path(tempfile.gettempdir()))
    return parser.parse_args(words)


def results_directory(options: argparse.Namespace, plan: Plan) -> Path:
    """Only a whole run replaces the result that stands in the documentation."""
    if options.results is not None:
        return Path(options.results)
    return RESULTS_DIRECTORY if plan.mode == FULL else RESULTS_DIRECTORY / plan.mode


def mode_of(options: argparse.Namespace) -> str:
    if options.quick:
        return QUICK
    is_whole = options.route is None and options.scale in (None, 1.0)
    return FULL if is_whole else PARTIAL


def plan_of(options: argparse.Namespace, jars: tuple[str, ...], missing: str | None) -> Plan:
    """`missing`: why Spark's connector, or Apache Kafka, is not there."""
    has_growth = options.growth if options.growth is not None else not options.quick
    default_rounds = ROUNDS_QUICK if options.quick else ROUNDS_FULL
    return Plan(
        mode=mode_of(options),
        routes=routes_of(options.route, has_connector=bool(jars), has_kafka=not missing),
        scale=options.scale or (SCALE_QUICK if options.quick else 1.0),
        rounds=options.rounds or default_rounds,
        partitions=options.partitions,
        codec=options.codec,
        parquet_codec=options.parquet_codec,
        jars=jars,
        growth_partitions=GROWTH_PARTITIONS if has_growth else (),
        growth_gigabytes=tuple(sorted(options.sizes_gb)) if has_growth else (),
        missing=missing,
    )


def routes_of(
    wanted: Sequence[str] | None, *, has_connector: bool, has_kafka: bool
) -> tuple[Route, ...]:
    routes = [BY_NAME[name] for name in wanted] if wanted else list(ROUTES)
    return tuple(
        route
        for route in routes
        if (has_connector or not route.is_connector) and (has_kafka or route.peer != KAFKA)
    )


def print_report(console: Console, report: Report, files: Sequence[Path]) -> None:
    wide = console if console.width >= TABLE_WIDTH_MIN else Console(width=TABLE_WIDTH_MIN)
    sheets = [figures_sheet(report), bars_sheet(report)]
    sheets += [growth_sheet(report, curve) for curve in (BY_PARTITIONS, BY_SIZE)]
    for sheet in sheets:
        if sheet.rows:
            wide.print(screen(sheet))
    for line in [*summary(report), *(f"written: {path}" for path in files)]:
        console.print(line, highlight=False, markup=False)


def main() -> None:
    options = arguments()
    absent = [name for name in NEEDED if find_spec(name) is None]
    if absent:
        raise SystemExit(f"{', '.join(absent)} not installed: pip install 'headrace[spark]'")
    signal.signal(signal.SIGTERM, end_on_signal)
    console = Console()
    found = connector()
    jars = tuple(str(jar) for jar in found.jars)
    plan = plan_of(options, jars, found.missing or kafka_missing())
    report = Run(plan, options.work_dir, console).run()
    directory = results_directory(options, plan)
    plots = write_plots(directory, report)
    files = write_results(directory, report, plots)
    if directory == RESULTS_DIRECTORY and not report.missing and not report.errors:
        document.update(PAGE, report)
    print_report(console, report, [*files, *plots])
    sys.exit(1 if report.errors else 0)


if __name__ == "__main__":
    main()

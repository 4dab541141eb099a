"""Headrace beside Apache Kafka, in the same run: `python -m bench --help`."""

from __future__ import annotations

import argparse
import resource
import signal
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rich.console import Console

from bench import readme
from bench.peers import kafka_missing
from bench.plots import write_plots
from bench.profile import write_flame_graph
from bench.results import write_results
from bench.run import FULL, PARTIAL, QUICK, Plan, Run
from bench.table import screen_table, summary
from bench.warm_up import SECONDS_FULL, SECONDS_QUICK
from bench.work import AFTER_LOAD, BEFORE_LOAD, GROWTH, LIFE_CYCLE, STEADY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.outcomes import Report

RESULTS_DIRECTORY = Path(__file__).parent / "results"
README = Path(__file__).parents[1] / "README.md"
QUICK_SCALE = 0.3
TABLE_WIDTH_MIN = 164


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the main figures, under 3 minutes")
    parser.add_argument("--only", action="append", metavar="NAME", help="a work, or a pattern")
    parser.add_argument("--list", action="store_true", help="print the names of all work and end")
    parser.add_argument("--rounds", type=int, help="rounds of each work (3, quick 2)")
    parser.add_argument("--scale", type=float, help=f"amount of work (1, quick {QUICK_SCALE})")
    parser.add_argument("--warm-up", type=float, metavar="SECONDS", help="for each broker")
    parser.add_argument("--headrace-only", action="store_true", help="do not start Kafka")
    parser.add_argument("--profile", metavar="WORK", help="write a flame graph of a steady work")
    parser.add_argument("--results", type=Path, metavar="DIR", help="where JSON and plots go")
    parser.add_argument("--work-dir", type=Path, default=Path(tempfile.gettempdir()))
    return parser.parse_args()


def results_directory(options: argparse.Namespace) -> Path:
    """Only a whole run replaces the result that stands in the README."""
    if options.results is not None:
        return Path(options.results)
    if options.quick:
        return RESULTS_DIRECTORY / "quick"
    return RESULTS_DIRECTORY / "partial" if options.only else RESULTS_DIRECTORY


def plan_of(options: argparse.Namespace) -> Plan:
    def is_chosen(name: str, *, is_quick: bool) -> bool:
        if options.only:
            return any(fnmatch(name, pattern) for pattern in options.only)
        return is_quick or not options.quick

    missing = "only Headrace was asked for" if options.headrace_only else kafka_missing()
    default_warm_up = SECONDS_QUICK if options.quick else SECONDS_FULL
    plan = Plan(
        before_load=[w for w in BEFORE_LOAD if is_chosen(w.name, is_quick=w.is_quick)],
        steady=[w for w in STEADY if is_chosen(w.name, is_quick=w.is_quick)],
        after_load=[w for w in AFTER_LOAD if is_chosen(w.name, is_quick=w.is_quick)],
        life_cycle=[w for w in LIFE_CYCLE if is_chosen(w.name, is_quick=w.is_quick)],
        growth=[w for w in GROWTH if is_chosen(w.name, is_quick=False)],
        mode=QUICK if options.quick else PARTIAL if options.only else FULL,
        rounds=options.rounds,
        scale=options.scale or (QUICK_SCALE if options.quick else 1.0),
        warm_up_seconds=default_warm_up if options.warm_up is None else options.warm_up,
        kafka_missing=missing,
    )
    if not plan.step_count:
        raise SystemExit(f"no work is named {options.only}: see --list")
    return plan


def print_report(console: Console, report: Report, files: Sequence[Path]) -> None:
    wide = console if console.width >= TABLE_WIDTH_MIN else Console(width=TABLE_WIDTH_MIN)
    if report.works:
        wide.print(screen_table(report.works))
    for line in summary(report):
        console.print(line, highlight=False, markup=False)
    for path in files:
        console.print(f"written: {path}", highlight=False, markup=False)


def profile(console: Console, options: argparse.Namespace) -> None:
    found = [work for work in STEADY if work.name == options.profile]
    if not found:
        raise SystemExit(f"no steady work is named {options.profile}: see --list")
    target = results_directory(options) / f"profile-{options.profile}.svg"
    values = write_flame_graph(found[0], options.scale or 1.0, options.work_dir, target)
    for name, value in values.items():
        console.print(f"{name}: {value:,.3f} (under the profiler)")
    console.print(f"written: {target}", highlight=False)


def end_on_signal(number: int, _frame: object) -> NoReturn:
    """An exception, so that every broker is ended and every directory removed on the way out."""
    raise SystemExit(128 + number)


def main() -> None:
    options = arguments()
    if options.list:
        for work in (*BEFORE_LOAD, *STEADY, *AFTER_LOAD, *LIFE_CYCLE, *GROWTH):
            print(f"{work.name:28} {work.title}")
        return
    signal.signal(signal.SIGTERM, end_on_signal)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    console = Console()
    if options.profile:
        profile(console, options)
        return
    report = Run(plan_of(options), options.work_dir, console).run()
    directory = results_directory(options)
    plots = write_plots(directory, report)
    write_results(directory, report, plots)
    if directory == RESULTS_DIRECTORY and not report.kafka_missing:
        readme.update(README, report)
    print_report(console, report, [*sorted(directory.glob("latest.*")), *plots])
    sys.exit(1 if report.errors else 0)


if __name__ == "__main__":
    main()

"""`python -m soak kill` and `python -m soak long`: run, show, write the result, and say by the exit
status whether every promise was kept."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from . import results
from .kill import KillResult, KillRun
from .screen import progress_bar, show_report

if TYPE_CHECKING:
    from headrace.testing.history import History

DURABILITIES = ("page-cache", "fsync")
MINUTES_MIN, MINUTES_MAX = 0.2, 24 * 60.0
"""Retention has to act several times within the run."""


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    console = Console()
    directory = Path(tempfile.mkdtemp(prefix="headrace-soak-", dir=options.directory))
    try:
        is_clean: bool = options.run(options, directory, console)
    except BaseException:
        console.print(f"The broker's files are left in {directory}")
        raise
    if is_clean:
        shutil.rmtree(directory)
    else:
        console.print(f"The broker's files are left in {directory}")
    return 0 if is_clean else 1


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    verbs = root.add_subparsers(required=True, metavar="kill|long")
    kill = verbs.add_parser("kill", help="kill -9 under load, again and again")
    kill.add_argument("--cycles", type=cycles, default=1_000, help="restarts; default %(default)s")
    kill.add_argument("--seed", type=int, default=None, help="of moments and changes")
    kill.add_argument("--durability", choices=(*DURABILITIES, "both"), default="both")
    kill.set_defaults(run=run_kill)
    long = verbs.add_parser("long", help="a steady load for a long time, watched for drift")
    long.add_argument("--minutes", type=minutes, default=45.0, help="default %(default)s")
    long.set_defaults(run=run_long)
    for verb in (kill, long):
        verb.add_argument("--results", type=Path, default=results.RESULTS, help="where to write")
        verb.add_argument("--directory", type=Path, default=None, help="for the broker's files")
    return root


def cycles(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"at least 1, not {text}")
    return count


def minutes(text: str) -> float:
    length = float(text)
    if not MINUTES_MIN <= length <= MINUTES_MAX:
        raise argparse.ArgumentTypeError(f"{MINUTES_MIN:g} to {MINUTES_MAX:g}, not {text}")
    return length


def run_kill(options: argparse.Namespace, directory: Path, console: Console) -> bool:
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    durabilities = DURABILITIES if options.durability == "both" else (options.durability,)
    is_clean = True
    for number, durability in enumerate(durabilities):
        share = options.cycles // len(durabilities)
        cycles = share + options.cycles % len(durabilities) if number == 0 else share
        result = kill_run(directory / durability, durability, cycles, seed, console)
        values = results.kill_values(result)
        results.write(options.results, f"kill-{durability}", values)
        facts: dict[str, object] = {
            name: value for name, value in values.items() if isinstance(value, int | float)
        }
        assert result.report is not None
        show_report(console, f"kill -9, durability={durability}", facts, result.report)
        for failure in result.failures:
            console.print(f"a client failed: {failure}", highlight=False)
        is_clean = is_clean and result.is_clean
    return is_clean


def kill_run(
    directory: Path, durability: str, cycles: int, seed: int, console: Console
) -> KillResult:
    with progress_bar(console) as progress:
        task = progress.add_task(durability, total=cycles, note="")

        def show(result: KillResult, history: History) -> None:
            wrong = sum(history.violations.counts.values())
            note = f"{result.kills} kills, {wrong} violations"
            progress.update(task, completed=result.cycles, note=note)

        run = KillRun(directory, durability=durability, cycles=cycles, seed=seed, on_cycle=show)
        return run.run()


def run_long(options: argparse.Namespace, directory: Path, console: Console) -> bool:
    # Only this verb draws: matplotlib takes a second to load.
    from .long_command import run_long as run

    return run(options.minutes, directory, options.results, console)


if __name__ == "__main__":
    sys.exit(main())

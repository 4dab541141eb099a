"""`python -m soak VERB`: run, show, write the result, and say by the exit status whether every
promise was kept."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from headrace.pipeline.jobs.priority import TABLES_NICENESS

from . import results
from .kill import KillResult, KillRun
from .pipeline.work import JOBS, VICTIMS
from .screen import progress_bar, show_report

if TYPE_CHECKING:
    from headrace.testing.history import History

VERBS = "kill|long|transactions|streams|patterns|pipeline|freshness"
DURABILITIES = ("page-cache", "fsync")
CLIENTS = ("librdkafka", "java", "java-v1")
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
    verbs = root.add_subparsers(required=True, metavar=VERBS)
    kill = verbs.add_parser("kill", help="kill -9 under load, again and again")
    kill.add_argument("--cycles", type=count, default=1_000, help="restarts; default %(default)s")
    kill.add_argument("--durability", choices=(*DURABILITIES, "both"), default="both")
    kill.set_defaults(run=run_kill)
    long = verbs.add_parser("long", help="a steady load for a long time, watched for drift")
    long.add_argument("--minutes", type=minutes, default=45.0, help="default %(default)s")
    long.set_defaults(run=run_long)
    transactions = verbs.add_parser("transactions", help="exactly once through kills of all")
    transactions.add_argument("--records", type=count, default=100_000, help="default %(default)s")
    transactions.add_argument("--client", choices=(*CLIENTS, "all"), default="all")
    transactions.add_argument("--spare-broker", action="store_true", help="kill only processors")
    transactions.set_defaults(run=run_transactions)
    streams = verbs.add_parser("streams", help="a word count in Kafka Streams, exactly_once_v2")
    streams.add_argument("--lines", type=count, default=3_000, help="default %(default)s")
    streams.set_defaults(run=run_streams)
    patterns = verbs.add_parser("patterns", help="outbox and saga through kills of all")
    patterns.add_argument("--database", choices=("postgresql", "sqlite"), default="postgresql")
    patterns.set_defaults(run=run_patterns)
    pipeline = verbs.add_parser("pipeline", help="jobs on Spark, exactly once through kills")
    pipeline.add_argument("--victim", choices=(*VICTIMS, "all"), default="all")
    pipeline.add_argument("--job", choices=(*JOBS, "all"), default="all")
    pipeline.set_defaults(run=run_pipeline)
    freshness = verbs.add_parser("freshness", help="a table that follows a busy topic")
    add_freshness_options(freshness)
    counts = (transactions, 50), (streams, 5), (patterns, 100), (pipeline, 20)
    for verb, kills in counts:
        verb.add_argument("--kills", type=count, default=kills, help="default %(default)s")
    for verb in (transactions, streams):
        verb.add_argument("--broker", choices=("headrace", "kafka"), default="headrace")
    for verb in (kill, transactions, streams, patterns, pipeline):
        verb.add_argument("--seed", type=int, default=None, help="of moments and changes")
    for verb in verbs.choices.values():
        verb.add_argument("--results", type=Path, default=results.RESULTS, help="where to write")
        verb.add_argument("--directory", type=Path, default=None, help="for the broker's files")
    return root


def add_freshness_options(verb: argparse.ArgumentParser) -> None:
    shown = "default %(default)s"
    verb.add_argument("--minutes", type=minutes, default=15.0, help=f"with the job; {shown}")
    verb.add_argument(
        "--quiet-minutes", type=minutes, default=3.0, help=f"before and after it; {shown}"
    )
    verb.add_argument("--rate", type=count, default=50_000, help=f"records a second; {shown}")
    verb.add_argument("--trigger", type=float, default=2.0, help=f"seconds of a batch; {shown}")
    verb.add_argument("--master", help="of Spark; as table topics if not given")
    verb.add_argument(
        "--niceness",
        type=int,
        default=TABLES_NICENESS,
        help=f"of the job; {shown}, as those of table topics",
    )
    verb.set_defaults(run=run_freshness)


def count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"at least 1, not {text}")
    return number


def minutes(text: str) -> float:
    length = float(text)
    if not MINUTES_MIN <= length <= MINUTES_MAX:
        raise argparse.ArgumentTypeError(f"{MINUTES_MIN:g} to {MINUTES_MAX:g}, not {text}")
    return length


def seed_of(options: argparse.Namespace) -> int:
    seed: int | None = options.seed
    return random.SystemRandom().randrange(2**32) if seed is None else seed


def run_kill(options: argparse.Namespace, directory: Path, console: Console) -> bool:
    seed = seed_of(options)
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


# Each of these loads what only its verb needs: drawing, databases, another broker.


def run_long(options: argparse.Namespace, directory: Path, console: Console) -> bool:
    from .long_command import run_long as run

    return run(options.minutes, directory, options.results, console)


def run_transactions(options: argparse.Namespace, directory: Path, console: Console) -> bool:
    from .transactions.command import run_transactions as run
    from .transactions.programs import CLIENTS as ALL

    return run(
        ALL if options.client == "all" else (options.client,),
        directory,
        options.results,
        console,
        records=options.records,
        kills=options.kills,
        seed=seed_of(options),
        broker=options.broker,
        spare_broker=options.spare_broker,
    )


def run_streams(options: argparse.Namespace, directory: Path, console: Console) -> bool:
    from .streams.command import run_streams as run

    return run(
        directory,
        options.results,
        console,
        lines=options.lines,
        kills=options.kills,
        seed=seed_of(options),
        broker=options.broker,
    )


def run_patterns(options: argparse.Namespace, directory: Path, console: Console) -> bool:
    from .patterns.command import run_patterns as run

    return run(
        options.database,
        directory,
        options.results,
        console,
        kills=options.kills,
        seed=seed_of(options),
    )


def run_pipeline(options: argparse.Namespace, directory: Path, console: Console) -> bool:
    from .pipeline.command import run_pipeline as run

    return run(
        JOBS if options.job == "all" else (options.job,),
        VICTIMS if options.victim == "all" else (options.victim,),
        directory,
        options.results,
        console,
        kills=options.kills,
        seed=seed_of(options),
    )


def run_freshness(options: argparse.Namespace, directory: Path, console: Console) -> bool:
    from .freshness.command import run_freshness as run
    from .freshness.result import FreshnessPlan

    plan = FreshnessPlan(
        with_seconds=60 * options.minutes,
        without_seconds=60 * options.quiet_minutes,
        records_per_second=options.rate,
        trigger_seconds=options.trigger,
        master=options.master,
        niceness=options.niceness,
    )
    return run(plan, directory, options.results, console)


if __name__ == "__main__":
    sys.exit(main())

"""One target in a process of its own: a crash of the interpreter harms no other target.

``mutate`` changes inputs at random; ``atheris`` is guided by coverage and has to see the sources
before they are imported, hence the imports inside the functions.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.engine import Report

ATHERIS_INPUT_SECONDS_MAX = 20


def run_mutate(name: str, seconds: float, seed: int, findings: Path) -> int:
    from tests.fuzz import corpus
    from tests.fuzz.engine import Engine
    from tests.fuzz.targets import BY_NAME

    target = BY_NAME[name]
    engine = Engine(target, os.getpid())
    seeds = list({*corpus.inputs(name).values(), *target.seeds().values()})
    engine.replay(seeds)
    end = time.monotonic() + seconds
    engine.explore(seeds, Random(seed), lambda _: time.monotonic() < end, _say)
    target.close()
    report = engine.report
    for where, data in report.failures.items():
        print(f"{name}: FAILED {where}\n  input: {corpus.keep(findings / name, data)}")
    if report.slowest_seconds > 1:
        print(f"{name}: slow input: {corpus.keep(findings / name, report.slowest_input)}")
    print(report.line(), flush=True)
    return 0 if report.is_good else 1


def _say(report: Report) -> None:
    print(f"  ... {report.line()}", flush=True)


def run_atheris(name: str, seconds: float, seed: int, findings: Path) -> int:
    """Ends the process itself: libFuzzer never returns."""
    import atheris

    with atheris.instrument_imports(include=["headrace"]):
        from tests.fuzz.targets import BY_NAME
    from tests.fuzz import corpus

    target = BY_NAME[name]
    folder = Path(tempfile.mkdtemp(prefix="headrace-fuzz-"))
    for number, data in enumerate([*corpus.inputs(name).values(), *target.seeds().values()]):
        (folder / str(number)).write_bytes(data)
    (findings / name).mkdir(parents=True, exist_ok=True)
    arguments = [
        sys.argv[0],
        str(folder),
        f"-max_total_time={int(seconds)}",
        f"-seed={seed}",
        f"-timeout={ATHERIS_INPUT_SECONDS_MAX}",
        f"-artifact_prefix={findings / name}/",
        "-print_final_stats=1",
        "-rss_limit_mb=2048",
    ]
    atheris.Setup(arguments, target.run)
    atheris.Fuzz()
    return 0


def main() -> int:
    # What the broker has to say about damage would bury the progress.
    logging.getLogger().addHandler(logging.NullHandler())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("--engine", choices=("mutate", "atheris"), default="mutate")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--findings", type=Path, required=True)
    chosen = parser.parse_args()
    run = run_atheris if chosen.engine == "atheris" else run_mutate
    return run(chosen.target, chosen.seconds, chosen.seed, chosen.findings)


if __name__ == "__main__":
    sys.exit(main())

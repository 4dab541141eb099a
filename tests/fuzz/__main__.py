"""Fuzz every target for its share of the time, and say what came of it.

    python -m tests.fuzz --minutes 30 [--engine mutate|atheris] [--only TARGET ...]
    python -m tests.fuzz --write-seeds

The status is 0 if nothing was found. Findings are written to ``--findings`` (a new temporary folder
by default); one that is real goes, with its repair, into the corpus of its target.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz import corpus
from tests.fuzz.targets import ALL, BY_NAME

SECONDS_BEYOND = 120.0
"""What a worker may take longer than told, before it counts as hanging."""
ERROR_CHARACTERS_MAX = 4_000
STATISTIC = re.compile(r"stat::(\w+):\s+(\d+)")
COVERAGE = re.compile(r"cov: (\d+) .*?rss: (\d+)Mb")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--engine", choices=("mutate", "atheris"))
    parser.add_argument("--only", action="extend", nargs="+", choices=sorted(BY_NAME))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--findings", type=Path)
    parser.add_argument("--write-seeds", action="store_true")
    chosen = parser.parse_args()
    if chosen.write_seeds:
        for target in ALL:
            print(f"{target.name}: {corpus.write_seeds(target)} seeds")
        return 0
    findings = chosen.findings or Path(tempfile.mkdtemp(prefix="headrace-findings-"))
    engine = chosen.engine or _best_engine()
    names = chosen.only or list(BY_NAME)
    seconds = chosen.minutes * 60 / len(names)
    print(f"{len(names)} targets, {seconds:.0f} s each, engine {engine}, seed {chosen.seed}")
    bad = [n for n in names if not _run(n, engine, seconds, chosen.seed, findings)]
    print(f"found something in: {', '.join(bad)}; see {findings}" if bad else "found nothing")
    return 1 if bad else 0


def _best_engine() -> str:
    return "atheris" if importlib.util.find_spec("atheris") else "mutate"


def _run(name: str, engine: str, seconds: float, seed: int, findings: Path) -> bool:
    command = [sys.executable, "-m", "tests.fuzz.worker", name, "--engine", engine]
    command += ["--seconds", str(seconds), "--seed", str(seed), "--findings", str(findings)]
    errors = subprocess.PIPE if engine == "atheris" else None
    try:
        done = subprocess.run(command, timeout=seconds + SECONDS_BEYOND, stderr=errors, text=True)
    except subprocess.TimeoutExpired:
        print(f"{name}: does not end", flush=True)
        return False
    if engine == "atheris":
        print(_summary(name, done.stderr), flush=True)
        if done.returncode:
            print(done.stderr[-ERROR_CHARACTERS_MAX:], flush=True)
    return done.returncode == 0


def _summary(name: str, output: str) -> str:
    """One line out of libFuzzer's many."""
    figures = dict(STATISTIC.findall(output))
    coverage = COVERAGE.findall(output) or [("0", "0")]
    return (
        f"{name:18} {int(figures.get('number_of_executed_units', 0)):9,} inputs  "
        f"coverage {coverage[0][0]} to {coverage[-1][0]}  "
        f"new {figures.get('new_units_added', '?')}  "
        f"memory {coverage[0][1]} to {figures.get('peak_rss_mb', '?')} MB  "
        f"slowest {figures.get('slowest_unit_time_sec', '?')} s"
    )


if __name__ == "__main__":
    sys.exit(main())

"""Break the code on purpose, one guarantee at a time, and see whether the tests notice.

    python -m tools.mutate [--only NAME] [--jobs 2] [--document docs/proof.md]

A mutation names a file, a text that stands in it exactly once, what to put in its place, and the
tests that must then fail by an assertion. The work tree is never touched: every job has a copy, and
the copy's own sources are what its tests import. First all tests run on the code as it is and must
pass; a test that fails anyway would prove nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from time import perf_counter
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
MUTATIONS = ROOT / "tests" / "mutations"
COPIED = ("src", "tests", "tools", "bench", "soak", "docs", "pyproject.toml")
TEST_SECONDS_MAX = 60
RUN_SECONDS_MAX = 300
FAILURES_MAX = 5
BEGIN, END = "<!-- mutations: begin -->", "<!-- mutations: end -->"
ASSERTIONS = ("AssertionError", "assert ", "Failed: DID NOT RAISE", "headrace.model.errors.")
"""How the message of a failure begins that is a verdict, not an accident: an assertion of the test,
or one of the model's errors where the test has none, such as a refusal of what must be accepted."""


class Mutation(NamedTuple):
    """One way to break a guarantee."""

    name: str
    guarantee: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]


class Outcome(NamedTuple):
    """What became of a mutation; without ``caught_by`` nobody noticed."""

    mutation: Mutation
    caught_by: str | None
    detail: str
    seconds: float


class Failure(NamedTuple):
    """One failed test of a run."""

    test: str
    message: str

    @property
    def is_assertion(self) -> bool:
        return self.message.startswith(ASSERTIONS)


class RunResult(NamedTuple):
    exit_code: int
    failures: list[Failure]
    output: str


# --- the list -----------------------------------------------------------------------------------


def load_mutations(directory: Path = MUTATIONS) -> list[Mutation]:
    """All mutations, in the order of files and entries; names are unique."""
    mutations = [
        Mutation(**{**entry, "tests": tuple(entry["tests"])})
        for path in sorted(directory.glob("*.toml"))
        for entry in tomllib.loads(path.read_text())["mutation"]
    ]
    names = [mutation.name for mutation in mutations]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"mutations with the same name: {', '.join(twice)}")
    return mutations


def stale_reason(mutation: Mutation, root: Path = ROOT) -> str | None:
    """Why a mutation no longer fits the sources, or None."""
    path = root / mutation.file
    if not path.is_file():
        return f"{mutation.name} is stale: there is no {mutation.file}"
    count = path.read_text().count(mutation.before)
    if count != 1:
        return (
            f"{mutation.name} is stale: its text stands {count} times in {mutation.file}, not once"
        )
    missing = [test for test in mutation.tests if not (root / test.split("::")[0]).exists()]
    if missing:
        return f"{mutation.name} is stale: there is no {', '.join(missing)}"
    if mutation.before == mutation.after:
        return f"{mutation.name} changes nothing"
    return None


# --- running ------------------------------------------------------------------------------------


class Workshop:
    """A copy of the tree in which one mutation at a time is tried."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                unwanted = shutil.ignore_patterns("__pycache__", "node_modules", "results")
                shutil.copytree(source, directory / name, ignore=unwanted)
            elif source.exists():
                shutil.copy2(source, directory / name)
        self._environment = {
            **os.environ,
            "PYTHONPATH": f"{directory / 'src'}{os.pathsep}{directory}",
        }
        self._raise_if_other_sources()

    def _raise_if_other_sources(self) -> None:
        command = [sys.executable, "-c", "import headrace; print(headrace.__file__)"]
        done = subprocess.run(
            command, cwd=self.directory, env=self._environment, capture_output=True, text=True
        )
        if not done.stdout.startswith(str(self.directory)):
            raise RuntimeError(f"the copy is not what is imported: {done.stdout}{done.stderr}")

    def run_tests(self, tests: tuple[str, ...], *, failures_max: int = FAILURES_MAX) -> RunResult:
        report = self.directory / "report.xml"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += [f"--maxfail={failures_max}", f"--timeout={TEST_SECONDS_MAX}", "--tb=short"]
        command += [f"--junitxml={report}", *tests]
        try:
            done = subprocess.run(
                command,
                cwd=self.directory,
                env=self._environment,
                capture_output=True,
                text=True,
                timeout=RUN_SECONDS_MAX,
            )
        except subprocess.TimeoutExpired:
            return RunResult(-1, [], f"not done after {RUN_SECONDS_MAX} s")
        failures = failures_in(report.read_text()) if report.exists() else []
        return RunResult(done.returncode, failures, done.stdout + done.stderr)

    def try_out(self, mutation: Mutation) -> Outcome:
        """Apply, test, take back."""
        path = self.directory / mutation.file
        original = path.read_text()
        started = perf_counter()
        try:
            self._write(path, original.replace(mutation.before, mutation.after))
            result = self.run_tests(mutation.tests)
        finally:
            self._write(path, original)
        seconds = perf_counter() - started
        caught = next((failure for failure in result.failures if failure.is_assertion), None)
        if caught is not None:
            return Outcome(mutation, caught.test, caught.message, seconds)
        accident = next(iter(result.failures), None)
        if accident is not None:
            detail = f"no assertion failed, but {accident.test} did: {accident.message}"
        elif result.exit_code == 0:
            detail = "all tests pass"
        else:
            detail = "the tests did not run: " + result.output.strip()[-300:]
        return Outcome(mutation, None, detail, seconds)

    @staticmethod
    def _write(path: Path, text: str) -> None:
        """Python tells changes by size and second; two mutations may share both."""
        path.write_text(text)
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def failures_in(report: str) -> list[Failure]:
    """Failed tests of a JUnit report; errors in set-up and collection are no verdict."""
    failures = []
    for case in ElementTree.fromstring(report).iter("testcase"):
        for failure in case.findall("failure"):
            module = case.get("classname", "").replace(".", "/")
            message = (failure.get("message") or "").strip()
            failures.append(Failure(f"{module}.py::{case.get('name')}", message))
    return failures


def run_mutations(mutations: list[Mutation], jobs: int) -> list[Outcome]:
    """In the order given, however the jobs share them."""
    with tempfile.TemporaryDirectory(prefix="mutations-") as directory:
        workshops: Queue[Workshop] = Queue()
        for number in range(jobs):
            path = Path(directory).resolve() / str(number)
            path.mkdir()
            workshops.put(Workshop(path))

        def borrow(mutation: Mutation) -> Outcome:
            workshop = workshops.get()
            try:
                outcome = workshop.try_out(mutation)
            finally:
                workshops.put(workshop)
            print(_line(outcome), flush=True)
            return outcome

        _raise_if_red(workshops, mutations)
        with ThreadPoolExecutor(jobs) as executor:
            return list(executor.map(borrow, mutations))


def _raise_if_red(workshops: Queue[Workshop], mutations: list[Mutation]) -> None:
    tests = tuple(sorted({test for mutation in mutations for test in mutation.tests}))
    workshop = workshops.get()
    result = workshop.run_tests(tests)
    workshops.put(workshop)
    if result.exit_code != 0:
        raise SystemExit(f"the tests fail without any mutation:\n{result.output[-4000:]}")
    print(f"unchanged: {len(tests)} selections of tests pass", flush=True)


# --- saying it ----------------------------------------------------------------------------------


def _line(outcome: Outcome) -> str:
    verdict = f"caught by {outcome.caught_by}" if outcome.caught_by else f"MISSED: {outcome.detail}"
    return f"{outcome.seconds:5.1f} s  {outcome.mutation.name}: {verdict}"


def table(outcomes: list[Outcome]) -> str:
    rows = ["| mutation | what it breaks | file | caught by |", "|---|---|---|---|"]
    for outcome in outcomes:
        mutation = outcome.mutation
        file = mutation.file.removeprefix("src/headrace/")
        test = f"`{outcome.caught_by}`" if outcome.caught_by else "nothing"
        rows.append(f"| {mutation.name} | {mutation.guarantee} | `{file}` | {test} |")
    return "\n".join(rows)


def with_table(document: str, outcomes: list[Outcome]) -> str:
    """The document with the table between its markers renewed."""
    head, begin, rest = document.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the document has no {BEGIN} and {END}")
    caught = sum(outcome.caught_by is not None for outcome in outcomes)
    summary = f"{caught} of {len(outcomes)} mutations caught."
    return f"{head}{BEGIN}\n{summary}\n\n{table(outcomes)}\n{END}{tail}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME", help="these mutations alone")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--document", type=Path, help="renew the table between its markers")
    options = parser.parse_args(arguments)
    mutations = load_mutations()
    if options.only:
        unknown = set(options.only) - {mutation.name for mutation in mutations}
        if unknown:
            parser.error(f"no such mutation: {', '.join(sorted(unknown))}")
        mutations = [mutation for mutation in mutations if mutation.name in options.only]
    stale = [reason for mutation in mutations if (reason := stale_reason(mutation))]
    if stale:
        print("\n".join(stale))
        return 2
    started = perf_counter()
    outcomes = run_mutations(mutations, options.jobs)
    missed = [outcome.mutation.name for outcome in outcomes if outcome.caught_by is None]
    print(f"{len(outcomes)} mutations, {len(missed)} missed, {perf_counter() - started:.0f} s")
    if options.document is not None and not options.only:
        options.document.write_text(with_table(options.document.read_text(), outcomes))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

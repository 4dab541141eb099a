"""The broker to test, one driver process per client, and the table at the end of a run."""

from __future__ import annotations

import os
import uuid
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from .broker_process import BrokerProcess
from .driver import Client
from .registry import CLIENTS, ClientSpec
from .scenarios import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from _pytest.mark.structures import ParameterSet

BOOTSTRAP_VARIABLE = "HEADRACE_TEST_BOOTSTRAP"
INTEROP = "interop"
ADMIN_CLIENT = "confluent-kafka"
SPECS = {spec.name: spec for spec in CLIENTS}
CANNOT_STAMP = {spec.name for spec in CLIENTS if "set-timestamp" in spec.cannot}
CANNOT_CREATE = {spec.name for spec in CLIENTS if "create-topic" in spec.cannot}


@pytest.fixture(scope="session")
def bootstrap_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The broker under test: our own process, or the one that the environment names."""
    given = os.environ.get(BOOTSTRAP_VARIABLE)
    if given:
        yield given
        return
    with BrokerProcess(tmp_path_factory.mktemp("broker") / "data") as broker:
        yield broker.bootstrap_servers


class ClientPool:
    """Driver processes for one broker: one that is kept per client, more on request."""

    def __init__(self, bootstrap: str, directory: Path) -> None:
        self._bootstrap = bootstrap
        self._directory = directory
        self._kept: dict[str, Client] = {}
        self._started: list[Client] = []

    def start(self, name: str) -> Client:
        spec = SPECS[name]
        missing = spec.missing_tool()
        if missing is not None:
            pytest.skip(missing)
        log = self._directory / f"{name}.stderr.log"
        command = [*spec.command(), self._bootstrap]
        client = Client(name, command, spec.directory, log)
        self._started.append(client)
        return client

    def unique_name(self, word: str) -> str:
        return f"{word}-{uuid.uuid4().hex[:8]}"

    def get(self, name: str) -> Client:
        if name not in self._kept:
            self._kept[name] = self.start(name)
        return self._kept[name]

    def discard(self, name: str) -> None:
        """Forget a kept client after a failure, so that the next test gets a fresh process."""
        kept = self._kept.pop(name, None)
        if kept is not None:
            kept.crash_if_running()

    def stop(self) -> None:
        for client in self._started:
            client.stop()


@pytest.fixture(scope="session")
def clients(
    bootstrap_servers: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClientPool]:
    pool = ClientPool(bootstrap_servers, tmp_path_factory.mktemp("drivers"))
    yield pool
    pool.stop()


def client_parameter(specs: Iterable[ClientSpec], *values: object, id: str) -> ParameterSet:
    """A test parameter that carries the markers of the tools its clients need."""
    markers = sorted({spec.marker for spec in specs if spec.marker is not None})
    return pytest.param(*values, id=id, marks=[getattr(pytest.mark, name) for name in markers])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Which (client, scenario) ran, which does not apply and why, what the machine lacks."""
    outcomes = {
        report.nodeid.rsplit("[", 1)[1].rstrip("]"): word
        for word in ("passed", "failed", "skipped")
        for report in terminalreporter.stats.get(word, [])
        if "test_client_runs_scenario[" in report.nodeid
    }
    if not outcomes:
        return
    marks = {"passed": "ok", "failed": "FAILED", "skipped": "no tool"}
    terminalreporter.section("interoperability: clients and scenarios")
    width = max(len(name) for name in SCENARIOS) + 1
    terminalreporter.write_line(" " * width + "".join(f"{s.name:>16}" for s in CLIENTS))
    for scenario in SCENARIOS.values():
        cells = []
        for spec in CLIENTS:
            applies = spec.obstacle(scenario.needs) is None
            outcome = outcomes.get(f"{spec.name}-{scenario.name}", "")
            cells.append(marks.get(outcome, "not run") if applies else "-")
        row = "".join(f"{cell:>16}" for cell in cells)
        terminalreporter.write_line(f"{scenario.name:<{width}}{row}")
    _write_reasons(terminalreporter)


def _write_reasons(terminalreporter: pytest.TerminalReporter) -> None:
    for spec in CLIENTS:
        reasons = Counter(
            reason
            for scenario in SCENARIOS.values()
            if (reason := spec.obstacle(scenario.needs)) is not None
        )
        for reason, count in reasons.items():
            terminalreporter.write_line(
                f"does not apply: {spec.name}, {count} scenario(s): {reason}"
            )
    lacking = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if INTEROP in report.nodeid and isinstance(report.longrepr, tuple)
    )
    for reason, count in lacking.items():
        terminalreporter.write_line(f"did not run: {count} test(s): {reason}")

"""What the simulations did, counted: seeds, fault points, commits judged. Printed at the end.

``simulation_counts("group simulation: seeds", 20)`` adds to a figure; what stands before the colon
names the line of the summary that the figure is printed in. Works under xdist too, where every
worker counts for itself and the controller adds up.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTS = pytest.StashKey[Counter[str]]()
WORKER_OUTPUT = "simulation_counts"


def pytest_configure(config: pytest.Config) -> None:
    config.stash[COUNTS] = Counter()


@pytest.fixture
def simulation_counts(request: pytest.FixtureRequest) -> Callable[[str, int], None]:
    """``count(name, amount)``: add to the figure of that name."""
    counts = request.config.stash[COUNTS]

    def count(name: str, amount: int) -> None:
        assert ": " in name, "a figure belongs to a simulation: 'which simulation: what'"
        counts[name] += amount

    return count


def pytest_sessionfinish(session: pytest.Session) -> None:
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[WORKER_OUTPUT] = dict(session.config.stash[COUNTS])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker of xdist is done; one that crashed has left no figures."""
    node.config.stash[COUNTS].update(getattr(node, "workeroutput", {}).get(WORKER_OUTPUT, {}))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    lines: dict[str, list[str]] = {}
    for name, amount in sorted(config.stash[COUNTS].items()):
        simulation, _, what = name.partition(": ")
        lines.setdefault(simulation, []).append(f"{amount:,} {what}")
    for simulation, figures in lines.items():
        terminalreporter.write_line(f"{simulation}: {', '.join(figures)}")

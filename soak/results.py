"""Results as JSON: what was done on which machine, how much was checked, what was wrong."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.testing.history import Report

    from .kill import KillResult

RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, Any]:
    """No names of hosts or paths: only what speed and chance depend on."""
    with open("/proc/cpuinfo") as cpuinfo:
        models = [line.split(":", 1)[1].strip() for line in cpuinfo if "model name" in line]
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(),
        "processor": models[0] if models else platform.machine(),
        "memory_gigabytes": round(memory_bytes / 1e9, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def report_values(report: Report) -> dict[str, Any]:
    return {
        "checked": report.counts,
        "violations": {fault.name: count for fault, count in report.violations.items()},
        "examples": [str(violation) for violation in report.examples],
    }


def kill_values(result: KillResult) -> dict[str, Any]:
    assert result.report is not None
    return {
        "durability": result.durability,
        "seed": result.seed,
        "cycles": result.cycles,
        "kills": result.kills,
        "kills_during_recovery": result.kills_in_recovery,
        "moments": dict(result.moments),
        "generations_of_topics": result.generations,
        "seconds": round(result.seconds, 1),
        "metadata_changes_acknowledged": result.metadata_changes,
        "metadata_changes_unanswered": result.metadata_changes_unanswered,
        "client_failures": result.failures,
        **report_values(result.report),
    }


def write(directory: Path, name: str, values: dict[str, Any]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), **values}, indent=2) + "\n")
    return path

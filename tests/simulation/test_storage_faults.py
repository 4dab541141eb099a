"""The whole storage layer with a fault at every single operation of a workload, for each kind.

``headrace.testing.storage_faults`` says what the faults are, ``storage_workload`` what is done, and
``storage_judge`` what must hold. A quick selection of points runs always; all of them, over
``HEADRACE_TEST_STORAGE_SEEDS`` workloads, in the long run. A failure names kind, seed and point:
it becomes a test of its own in ``test_storage_found.py``.
"""

from __future__ import annotations

import os

import pytest

from headrace.testing.storage_faults import ALL_KINDS, FaultKind, fault_everywhere

SEEDS = int(os.environ.get("HEADRACE_TEST_STORAGE_SEEDS", "1"))
QUICK_STRIDE = 113
QUICK_SEED = 7
POINTS_MIN = 300
READS_MIN = 80


def name_of(kind: FaultKind) -> str:
    return kind.name.replace(", ", " ").replace(" ", "-")


@pytest.mark.parametrize("kind", ALL_KINDS, ids=name_of)
def test_a_fault_here_and_there_breaks_no_promise(kind: FaultKind, simulation_counts):
    counts = fault_everywhere(kind, QUICK_SEED, first=5, stride=QUICK_STRIDE)
    assert sum(counts.values()) > 0
    for what, count in counts.items():
        simulation_counts(f"storage simulation: fault points ({what})", count)


@pytest.mark.slow
@pytest.mark.timeout(600 * SEEDS)
@pytest.mark.parametrize("kind", ALL_KINDS, ids=name_of)
def test_a_fault_at_every_operation_breaks_no_promise(kind: FaultKind, simulation_counts):
    for seed in range(SEEDS):
        counts = fault_everywhere(kind, seed)
        assert sum(counts.values()) >= (READS_MIN if kind.counts_reads else POINTS_MIN)
        for what, count in counts.items():
            simulation_counts(f"storage simulation: fault points ({what})", count)

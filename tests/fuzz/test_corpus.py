"""Every kept input again, and a few thousand changed ones: the short form of ``make fuzz``.

HEADRACE_TEST_FUZZ_SCALE multiplies the number of changed inputs, HEADRACE_TEST_FUZZ_SEED makes
them others.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from tests.fuzz import corpus
from tests.fuzz.engine import INPUT_SECONDS_MAX, Engine
from tests.fuzz.targets import ALL, BY_NAME

SCALE = float(os.environ.get("HEADRACE_TEST_FUZZ_SCALE", "1"))
SEED = int(os.environ.get("HEADRACE_TEST_FUZZ_SEED", "7"))
GROWTH_MEGABYTES_MAX = 50.0
INPUTS = {
    "frames": 1_500,
    "request": 2_000,
    "batch": 3_000,
    "compressed": 1_500,
    "columns": 1_500,
    "segment": 80,
    "metadata-log": 150,
    "metadata-snapshot": 300,
}
INPUTS_OF_OTHERS = 60


@pytest.mark.parametrize("target", ALL, ids=lambda target: target.name)
def test_no_input_does_harm(target):
    """No crash, no hang, no growth; each target's own oracle says what else must hold."""
    kept = corpus.inputs(target.name)
    assert kept, "python -m tests.fuzz --write-seeds"
    seeds = list(kept.values())
    engine = Engine(target, os.getpid())
    try:
        engine.replay(seeds)
        count = int(SCALE * INPUTS.get(target.name, INPUTS_OF_OTHERS))
        engine.explore(seeds, Random(f"{SEED}-{target.name}"), lambda number: number < count)
    finally:
        target.close()
    report = engine.report
    assert report.failures == {}
    assert report.inputs >= len(seeds)
    assert report.slowest_seconds < INPUT_SECONDS_MAX, report.slowest_input
    assert report.end_megabytes - report.start_megabytes < GROWTH_MEGABYTES_MAX


def test_the_corpus_stays_small():
    files = [path for path in corpus.CORPUS.rglob("*") if path.is_file()]
    assert len(files) <= corpus.FILES_MAX
    assert sum(path.stat().st_size for path in files) <= corpus.BYTES_MAX
    assert {path.parent.name for path in files} == set(BY_NAME), "a folder per target"

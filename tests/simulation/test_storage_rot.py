"""One flipped bit in every file that a stop leaves, clean or not; see ``storage_rot``."""

from __future__ import annotations

import os

import pytest

from headrace.testing.storage_rot import files_after_stop, rot_one_bit

SEEDS = int(os.environ.get("HEADRACE_TEST_STORAGE_SEEDS", "1"))
QUICK_STRIDE = 6
PLACES = 4


def rot(seed: int, is_clean: bool, stride: int, places: int, simulation_counts) -> int:
    total = 0
    for path in files_after_stop(seed, is_clean=is_clean)[::stride]:
        for place in range(places):
            kind = rot_one_bit(seed, path, place, is_clean=is_clean)
            if kind is not None:
                total += 1
                simulation_counts(f"storage simulation: rotten bits ({kind.value})", 1)
    return total


@pytest.mark.parametrize("is_clean", [True, False], ids=["clean", "killed"])
def test_a_rotten_bit_here_and_there(is_clean: bool, simulation_counts):
    assert rot(1, is_clean, QUICK_STRIDE, 1, simulation_counts) > 3


@pytest.mark.slow
@pytest.mark.timeout(600 * SEEDS)
@pytest.mark.parametrize("is_clean", [True, False], ids=["clean", "killed"])
def test_rotten_bits_in_every_file(is_clean: bool, simulation_counts):
    for seed in range(SEEDS):
        assert rot(seed, is_clean, 1, PLACES, simulation_counts) > 100

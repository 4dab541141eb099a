"""How much of the page cache is turned over before a round."""

from __future__ import annotations

import pytest

from bench.memory import READ_BYTES, PageCache, free_memory_bytes


@pytest.fixture
def turned_over(tmp_path):
    opened = []

    def turned_over(free_bytes):
        cache = PageCache(tmp_path, lambda: free_bytes, READ_BYTES, 3 * READ_BYTES)
        opened.append(cache)
        return [cache.turn_over(), cache.turn_over()]

    yield turned_over
    for cache in opened:
        cache.close()


@pytest.mark.parametrize(
    ("free_bytes", "expected"),
    [
        (0, READ_BYTES),
        (2 * READ_BYTES, 2 * READ_BYTES),
        (2 * READ_BYTES + 1, 2 * READ_BYTES + 1),
        (100 * READ_BYTES, 3 * READ_BYTES),
    ],
)
def test_what_is_free_is_touched_within_limits_and_anew_each_time(
    turned_over, free_bytes, expected
):
    assert turned_over(free_bytes) == [expected, expected]


def test_free_memory_is_what_the_kernel_says():
    assert 0 < free_memory_bytes() < 2**50

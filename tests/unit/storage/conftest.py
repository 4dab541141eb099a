"""A node's storage on a simulated disk."""

from __future__ import annotations

import pytest

from headrace.testing.log_bench import LogBench


@pytest.fixture
def bench() -> LogBench:
    return LogBench()

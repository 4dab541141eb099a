"""A node's storage on a simulated disk."""

from __future__ import annotations

import pytest

from headrace.testing.storage_bench import StorageBench


@pytest.fixture
def bench() -> StorageBench:
    return StorageBench()

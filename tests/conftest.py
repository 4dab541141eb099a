"""For all tests: generated examples are the same in every run, so that red means a change.

HYPOTHESIS_PROFILE=explore looks for new ones, many of them; what it finds becomes a named example.
Where slow tests are left out (`make check`), a property is tried with fewer examples: the first
ones of those that `make test` tries.
"""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Generator

WITHOUT_SLOW_TESTS = "not slow"

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("quick", settings.get_profile("steady"), max_examples=25)
settings.register_profile("explore", max_examples=2_000, deadline=None)


def pytest_configure(config: pytest.Config) -> None:
    is_quick = WITHOUT_SLOW_TESTS in config.option.markexpr
    profile = os.environ.get("HYPOTHESIS_PROFILE", "quick" if is_quick else "steady")
    settings.load_profile(profile)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests stay for the whole run: the collector need not look at them again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()

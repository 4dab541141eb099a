"""For all tests: generated examples are the same in every run, so that red means a change.

HYPOTHESIS_PROFILE=explore looks for new ones, many of them; what it finds becomes a named example.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=2_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

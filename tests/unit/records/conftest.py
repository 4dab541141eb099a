"""Loads kafka-python, an oracle of these tests, whose import warns on Python 3.11.

Warnings are errors here, and this one is not ours: the library reads its schemas by functions that
the standard library has deprecated (and brought back later).
"""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message="(read|open)_text is deprecated")
    import kafka.record.default_records  # noqa: F401

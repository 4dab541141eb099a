"""Unknown names: refused, with the nearest known one."""

from __future__ import annotations

import pytest

from headrace.config.names import maybe_nearest, raise_if_unknown
from headrace.model.errors import InvalidConfig

KNOWN = {"retention.ms": 1, "retention.bytes": 2, "segment.bytes": 3}


def test_known_name_passes() -> None:
    raise_if_unknown("retention.ms", KNOWN, "topic option")


def test_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidConfig) as refused:
        raise_if_unknown("retention.mss", KNOWN, "topic option")
    expected = "unknown topic option 'retention.mss'; did you mean retention.ms?"
    assert refused.value.message == expected


def test_nearest_understands_underscores_and_capitals() -> None:
    assert maybe_nearest("Retention_MS", KNOWN) == "retention.ms"


def test_nearest_is_none_when_nothing_is_like_it() -> None:
    assert maybe_nearest("zzz", KNOWN) is None
    assert maybe_nearest("retention.ms" * 100, KNOWN) is None

"""The seven levels: who reads whom, against how many."""

from __future__ import annotations

import pytest

from headrace.schemas.compatibility import incompatibilities
from headrace.schemas.model import Compatibility


class Numbered:
    """Reads only what is in its list."""

    canonical = normalized = ""

    def __init__(self, number: int, *reads: int) -> None:
        self.number = number
        self.reads = reads

    def problems_reading(self, writer: object) -> list[str]:
        assert isinstance(writer, Numbered)
        if writer.number in self.reads:
            return []
        return [f"{self.number} cannot read {writer.number}"]


class Deep(Numbered):
    def problems_reading(self, writer: object) -> list[str]:
        raise RecursionError


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (Compatibility.NONE, []),
        (Compatibility.BACKWARD, []),
        (Compatibility.BACKWARD_TRANSITIVE, ["3 cannot read 1"]),
        (Compatibility.FORWARD, ["2 cannot read 3"]),
        (Compatibility.FORWARD_TRANSITIVE, ["2 cannot read 3"]),
        (Compatibility.FULL, ["2 cannot read 3"]),
        (Compatibility.FULL_TRANSITIVE, ["2 cannot read 3"]),
    ],
)
def test_levels(level: Compatibility, expected: list[str]) -> None:
    earlier = [Numbered(1, 3), Numbered(2)]
    assert incompatibilities(Numbered(3, 2), earlier, level) == expected


def test_first_schema_fits() -> None:
    assert incompatibilities(Numbered(1), [], Compatibility.FULL_TRANSITIVE) == []


def test_too_deep_counts_as_incompatible() -> None:
    assert incompatibilities(Deep(2), [Numbered(1)], Compatibility.BACKWARD) != []

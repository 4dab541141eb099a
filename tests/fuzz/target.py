"""What a fuzz target is: seeds to begin with, and one input at a time, judged by its own oracle.

``run`` returns when the input was handled as it should be. Whatever it raises is a finding: a
target catches the errors that are named (``HeadraceError``) where they are an answer.
"""

from __future__ import annotations

from typing import Protocol

INPUT_BYTES_MAX = 64 * 1024
"""Longer inputs are cut: what they can show, a shorter one shows sooner."""


class Target(Protocol):
    """One kind of bytes that come from outside."""

    name: str

    def seeds(self) -> dict[str, bytes]:
        """Real encodings, by a short name each."""
        ...

    def run(self, data: bytes) -> None:
        """Handle one input."""
        ...

    def close(self) -> None:
        """Say goodbye: what was kept all the time must still be there."""
        ...


class Finding(AssertionError):
    """Something was served, lost or answered that must not be."""


def expect(condition: bool, what: str) -> None:
    """An oracle's sentence; also where asserts are switched off."""
    if not condition:
        raise Finding(what)

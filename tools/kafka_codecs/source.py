"""A growing piece of Python source: lines, indentation and the `struct` formats it needs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

INDENT = "    "


class Source:
    """Collects lines at the current depth, and the names of the helpers they use."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.unpackers: set[str] = set()
        self.packers: set[str] = set()
        self._depth = 0

    def line(self, text: str = "") -> None:
        self.lines.append(INDENT * self._depth + text if text else "")

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        self.line(opening)
        self._depth += 1
        yield
        self._depth -= 1

    def unpacker(self, codes: str) -> str:
        self.unpackers.add(codes)
        return f"_unpack_{identifier(codes)}"

    def packer(self, codes: str) -> str:
        self.packers.add(codes)
        return f"_pack_{identifier(codes)}"

    def text(self) -> str:
        return "\n".join(self.lines)


def identifier(codes: str) -> str:
    """A format as part of a name; `?` is no letter, and no format uses `Z`."""
    return codes.replace("?", "Z")

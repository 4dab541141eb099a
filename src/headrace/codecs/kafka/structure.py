"""The base of all message classes: equality and a readable form, and nothing else.

Messages are plain mutable records with slots; each class serves every version of its struct, and
fields that a version does not carry hold their schema default.
"""

from __future__ import annotations


class Structure:
    """A struct of a Kafka message."""

    __slots__: tuple[str, ...] = ()
    __hash__ = None  # type: ignore[assignment]  # mutable, so not hashable

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(is_same(getattr(self, name), getattr(other, name)) for name in self.__slots__)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"


def is_same(first: object, second: object) -> bool:
    """Equality that takes tuples and lists alike: an array field may be given as either."""
    if isinstance(first, tuple):
        first = list(first)
    if isinstance(second, tuple):
        second = list(second)
    return first == second

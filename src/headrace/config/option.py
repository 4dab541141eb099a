"""One option: what it is called, what it accepts, and what it means.

Values travel as text (files, environment, flags, the wire), so an option's default is text as well
and there is exactly one way from text to a value: ``Option.parse``. It accepts what Kafka accepts.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from enum import Enum

from headrace.model.errors import InvalidConfig

Value = bool | int | float | str | tuple[str, ...] | frozenset[str] | None

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
DOUBLE_MAX = sys.float_info.max


class Kind(Enum):
    """The types of Kafka's configuration protocol."""

    BOOLEAN = "boolean"
    STRING = "string"
    INT = "int"
    SHORT = "short"
    LONG = "long"
    DOUBLE = "double"
    LIST = "list"
    PASSWORD = "password"


class Importance(Enum):
    """How likely it is that somebody wants to change the option."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


_LARGEST = {Kind.SHORT: 2**15 - 1, Kind.INT: INT_MAX, Kind.LONG: LONG_MAX}


@dataclass(frozen=True, slots=True)
class Synonym:
    """A broker option that supplies the value where the topic has none.

    ``factor`` turns its unit into the topic option's: hours into milliseconds, for instance.
    """

    name: str
    factor: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """The declaration of one option. ``default`` is text; None means "not set"."""

    name: str
    kind: Kind
    default: str | None
    help: str
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    also_allowed: int | None = None
    """One value outside of the range that has a meaning of its own, such as -1."""
    choices: tuple[str, ...] = ()
    importance: Importance = Importance.MEDIUM
    sensitive: bool = False
    dynamic: bool = False
    """Whether it can be changed without a restart."""
    internal: bool = False
    """Hidden from descriptions while it is not set."""
    unordered: bool = False
    """A list whose order means nothing: its value is a frozenset."""
    synonyms: tuple[Synonym, ...] = ()
    no_effect: str = ""
    """Why setting it changes nothing here, as a sentence; empty for an option that does its work.
    """

    @property
    def documentation(self) -> str:
        """What it means, and that it has no effect where that is so."""
        return f"{self.help} Without effect: {self.no_effect}" if self.no_effect else self.help

    def parse(self, text: str) -> Value:
        """The value that ``text`` stands for; InvalidConfig names option, text and range."""
        text = text.strip()
        if self.kind is Kind.BOOLEAN:
            return self._parse_boolean(text)
        if self.kind in _LARGEST:
            return self._parse_whole_number(text)
        if self.kind is Kind.DOUBLE:
            return self._parse_number(text)
        if self.kind is Kind.LIST:
            return self._parse_list(text)
        if self.choices and text not in self.choices:
            raise self._refusal(text)
        return text

    def parse_optional(self, text: str | None) -> Value:
        return None if text is None else self.parse(text)

    def normalise(self, text: str) -> str:
        """The text as it is reported: checked, trimmed, and spelled one way."""
        value = self.parse(text)
        return ",".join(split_list(text)) if isinstance(value, frozenset) else render(value)

    @property
    def expectation(self) -> str:
        """What a legal value looks like, as the end of a sentence."""
        if self.kind is Kind.BOOLEAN:
            return f"expected {self.choices[0]}" if self.choices else "expected true or false"
        if self.kind in _LARGEST:
            return f"expected a whole number{self._of_unit()}{self._range_text()}"
        if self.kind is Kind.DOUBLE:
            return f"expected a number{self._of_unit()}{self._range_text()}"
        if self.kind is Kind.LIST:
            what = f" of {', '.join(self.choices)}" if self.choices else ""
            return f"expected a comma-separated list{what}"
        if self.choices:
            return f"expected one of {', '.join(self.choices)}"
        return "expected text"

    def _parse_boolean(self, text: str) -> bool:
        lowered = text.lower()
        if lowered not in (self.choices or ("true", "false")):
            raise self._refusal(text)
        return lowered == "true"

    def _parse_whole_number(self, text: str) -> int:
        # int() also takes "1_000" and non-ASCII digits, which Kafka refuses.
        digits = text[1:] if text[:1] in ("-", "+") else text
        if not (digits.isascii() and digits.isdigit()):
            raise self._refusal(text)
        if len(digits) > _DIGITS_MAX:
            raise self._refusal(text, at_most=_LARGEST[self.kind])
        value = int(text)
        largest = _LARGEST[self.kind]
        if not -largest - 1 <= value <= largest:
            raise self._refusal(text, at_most=largest)
        if not self._is_in_range(value):
            raise self._refusal(text)
        return value

    def _parse_number(self, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise self._refusal(text) from None
        if not math.isfinite(value) or not self._is_in_range(value):
            raise self._refusal(text)
        return value

    def _parse_list(self, text: str) -> tuple[str, ...] | frozenset[str]:
        items = split_list(text)
        if "" in items:
            raise self._refusal(text)
        if self.choices and not set(items) <= set(self.choices):
            raise self._refusal(text)
        return frozenset(items) if self.unordered else items

    def _is_in_range(self, value: float) -> bool:
        if self.also_allowed is not None and value == self.also_allowed:
            return True
        above = self.minimum is None or value >= self.minimum
        return above and (self.maximum is None or value <= self.maximum)

    def _of_unit(self) -> str:
        return f" of {self.unit}" if self.unit else ""

    def _range_text(self) -> str:
        alternative = f", or {self.also_allowed}" if self.also_allowed is not None else ""
        if self.minimum is not None and self.maximum is not None:
            return f" from {self.minimum} to {self.maximum}{alternative}"
        if self.minimum is not None:
            return f" >= {self.minimum}{alternative}"
        return ""

    def _refusal(self, text: str, *, at_most: int | None = None) -> InvalidConfig:
        shown = "(hidden)" if self.sensitive else _shorten(text)
        limit = f", at most {at_most} either way" if at_most is not None else ""
        return InvalidConfig(f"{self.name}={shown}: {self.expectation}{limit}")


_DIGITS_MAX = 20
_SHOWN_LENGTH_MAX = 200


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN_LENGTH_MAX else text[:_SHOWN_LENGTH_MAX] + "..."


def split_list(text: str) -> tuple[str, ...]:
    """Kafka's list syntax: commas, spaces around them and repetitions ignored; may be empty."""
    if not text.strip():
        return ()
    return tuple(dict.fromkeys(item.strip() for item in text.split(",")))


def render(value: Value) -> str:
    """A value as Kafka spells it in an answer."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, frozenset):
        return ",".join(sorted(value))
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return _render_number(value)
    return "" if value is None else str(value)


def _render_number(value: float) -> str:
    # Java's spelling: 0.5, 100.0, 1.0E18.
    mantissa, exponent_mark, exponent = repr(value).partition("e")
    if not exponent_mark:
        return mantissa
    point = "" if "." in mantissa else ".0"
    return f"{mantissa}{point}E{int(exponent)}"

"""Declare an option as a dataclass field: a typed attribute and a catalogue entry at once.

``retention_ms: int = declare.long("retention.ms", 604_800_000, ...)`` is all there is to an option.
The helpers claim to return the value's type, as ``dataclasses.field`` does, so that mypy can check
the annotation against the kind.
"""

from __future__ import annotations

from dataclasses import field, fields
from typing import TYPE_CHECKING, Any

from headrace.config.option import Importance, Kind, Option, Synonym, render

if TYPE_CHECKING:
    from collections.abc import Mapping

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW

MILLISECONDS = "milliseconds"
SECONDS = "seconds"
MINUTES = "minutes"
HOURS = "hours"
BYTES = "bytes"

_OPTION = "option"


def synonyms(*names: str | tuple[str, int]) -> tuple[Synonym, ...]:
    """``"log.retention.ms"``, or ``("log.retention.hours", 3_600_000)`` with a factor."""
    return tuple(Synonym(name) if isinstance(name, str) else Synonym(*name) for name in names)


def boolean(name: str, default: bool, help: str, **more: Any) -> bool:
    return _declare(name, Kind.BOOLEAN, render(default), help, more)  # type: ignore[no-any-return]


def integer(name: str, default: int, help: str, **more: Any) -> int:
    """32 bits."""
    return _declare(name, Kind.INT, str(default), help, more)  # type: ignore[no-any-return]


def short(name: str, default: int, help: str, **more: Any) -> int:
    """16 bits."""
    return _declare(name, Kind.SHORT, str(default), help, more)  # type: ignore[no-any-return]


def long(name: str, default: int, help: str, **more: Any) -> int:
    """64 bits."""
    return _declare(name, Kind.LONG, str(default), help, more)  # type: ignore[no-any-return]


def optional_long(name: str, help: str, **more: Any) -> int | None:
    return _declare(name, Kind.LONG, None, help, more)  # type: ignore[no-any-return]


def optional_integer(name: str, help: str, **more: Any) -> int | None:
    return _declare(name, Kind.INT, None, help, more)  # type: ignore[no-any-return]


def double(name: str, default: float, help: str, **more: Any) -> float:
    return _declare(name, Kind.DOUBLE, render(default), help, more)  # type: ignore[no-any-return]


def text(name: str, default: str, help: str, **more: Any) -> str:
    return _declare(name, Kind.STRING, default, help, more)  # type: ignore[no-any-return]


def optional_text(name: str, help: str, **more: Any) -> str | None:
    return _declare(name, Kind.STRING, None, help, more)  # type: ignore[no-any-return]


def password(name: str, help: str, **more: Any) -> str | None:
    """A text whose value is shown nowhere."""
    more["sensitive"] = True
    return _declare(name, Kind.PASSWORD, None, help, more)  # type: ignore[no-any-return]


def items(name: str, default: str, help: str, **more: Any) -> tuple[str, ...]:
    """A list; its order counts."""
    return _declare(name, Kind.LIST, default, help, more)  # type: ignore[no-any-return]


def item_set(name: str, default: str, help: str, **more: Any) -> frozenset[str]:
    """A list whose order means nothing."""
    more["unordered"] = True
    return _declare(name, Kind.LIST, default, help, more)  # type: ignore[no-any-return]


def _declare(name: str, kind: Kind, default: str | None, help: str, more: Mapping[str, Any]) -> Any:
    option = Option(name=name, kind=kind, default=default, help=help, **more)
    return field(
        default=option.parse_optional(default),
        repr=not option.sensitive,
        metadata={_OPTION: option},
    )


def catalogue(settings: type[Any]) -> dict[str, Option]:
    """All options that a dataclass declares, by name, sorted."""
    options = (item.metadata[_OPTION] for item in fields(settings) if _OPTION in item.metadata)
    return {option.name: option for option in sorted(options, key=lambda each: each.name)}


def attributes(settings: type[Any]) -> dict[str, str]:
    """Option name -> attribute name."""
    return {
        item.metadata[_OPTION].name: item.name
        for item in fields(settings)
        if _OPTION in item.metadata
    }

"""What ended a job: one sentence for people, and whether another try can help.

Errors of ours that were raised inside a Spark task arrive as text in somebody else's exception;
they are found again by their class's name, so that a message is not a page of Java.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import NamedTuple

from headrace.model.errors import HeadraceError

MESSAGE_LENGTH_MAX = 2_000
CAUSES_MAX = 100
"""Errors behind errors that are looked at."""
_RAISED_IN_TASK = re.compile(r"(headrace(?:\.\w+)+)\.([A-Z]\w+): ([^\n]+)")


class Fault(NamedTuple):
    """Why a job ended."""

    message: str
    can_retry: bool


def fault_of(error: BaseException) -> Fault:
    """The cause that a person can do something about."""
    ours = _maybe_ours(error)
    if ours is not None:
        return Fault(ours.message[:MESSAGE_LENGTH_MAX], ours.retriable)
    text = str(error)
    # Whatever is unknown may pass: a lost executor, a broker that restarts, a full disk.
    return maybe_fault_in(text) or Fault(_summary(type(error).__name__, text), can_retry=True)


def maybe_fault_in(text: str) -> Fault | None:
    """The outermost error of ours that the text of somebody else's error names: of those that led
    to each other, Python prints it last.
    """
    for module, name, message in reversed(_RAISED_IN_TASK.findall(text)):
        kind = _maybe_class(module, name)
        if kind is not None:
            return Fault(message.strip()[:MESSAGE_LENGTH_MAX], kind.retriable)
    return None


def first_line(text: str) -> str:
    return text.strip().partition("\n")[0].rstrip()


def _summary(name: str, text: str) -> str:
    return f"{name}: {first_line(text)}".rstrip(": ")[:MESSAGE_LENGTH_MAX]


def _maybe_ours(error: BaseException) -> HeadraceError | None:
    current: BaseException | None = error
    for _ in range(CAUSES_MAX):
        if current is None or isinstance(current, HeadraceError):
            return current
        current = current.__cause__ or current.__context__
    return None


def _maybe_class(module: str, name: str) -> type[HeadraceError] | None:
    try:
        found = getattr(import_module(module), name, None)
    except ImportError:
        return None
    is_ours = isinstance(found, type) and issubclass(found, HeadraceError)
    return found if is_ours else None

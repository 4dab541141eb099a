"""Run a load in a process of its own: the bench's progress bar must not take part in it."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def apart(
    function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Result:
    """What the function returns; it must bound its own time. An error in it is raised here."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return executor.submit(function, *args, **kwargs).result()

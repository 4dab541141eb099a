"""What can go wrong with a function, apart from what its records bring upon themselves."""

from __future__ import annotations

from headrace.model.errors import Blame
from headrace.pipeline.errors import PipelineError


class InvalidFunction(PipelineError):
    """A function is declared in a way that cannot work, or cannot be found."""

    blame = Blame.CLIENT


class FunctionFailed(PipelineError):
    """The function raised an error, and was declared to stop at the first one."""

    blame = Blame.CLIENT


class TableTooLarge(PipelineError):
    """A table to look things up in has more rows than a task may hold."""

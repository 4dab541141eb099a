"""What only the engine raises."""

from __future__ import annotations

from headrace.model.errors import Blame
from headrace.pipeline.errors import PipelineError


class TaskFailed(PipelineError):
    """A task could not do its work; the text says why."""

    blame = Blame.ENVIRONMENT
    retriable = True


class TooManyFields(PipelineError):
    """Records have new fields again and again: their names are data, not fields."""

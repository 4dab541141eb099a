"""What a decoder may raise; a bad record is never among it."""

from __future__ import annotations

from headrace.model.errors import Blame
from headrace.pipeline.errors import PipelineError


class RegistryUnreachable(PipelineError):
    """The schema registry does not answer, or answers with nonsense."""

    blame = Blame.ENVIRONMENT
    retriable = True


class SchemaNotRegistered(PipelineError):
    """The registry does not know a schema that a record or an option names."""

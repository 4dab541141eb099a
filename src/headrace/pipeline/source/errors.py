"""What can be wrong with a source before it reads anything; the rest is in
``headrace.pipeline.errors``.
"""

from __future__ import annotations

from headrace.model.errors import InvalidConfig
from headrace.pipeline.errors import PipelineError


class InvalidSourceOption(InvalidConfig):
    """An option of the source is missing, contradicts another, or has an impossible value."""


class UnsuitableColumns(InvalidConfig):
    """The schema that was asked for has columns that the source does not have."""


class NoOffsetAtTimestamp(PipelineError):
    """A partition has no record as new as the given timestamp."""

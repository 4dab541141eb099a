"""Errors of tables, beside those that all of the pipeline raises (``pipeline/errors.py``).

``ConcurrentCommit`` never leaves this package: whoever meets it reads the table again and decides
anew.
"""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.model.errors import Blame
from headrace.pipeline.errors import (
    ForeignCheckpoint,
    PipelineError,
    TargetFull,
    TargetNotWritable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class ForeignTable(PipelineError):
    """At the target there is something that Headrace did not make."""


class DamagedTable(PipelineError):
    """The table's own records cannot be read, or name files that are gone."""

    blame = Blame.ENVIRONMENT


class OverlappingOffsets(ForeignCheckpoint):
    """The files hold offsets that the table has already."""


class CompactionNotPossible(PipelineError):
    """Small files cannot be replaced here without somebody noticing."""


class TimeBeyondCalendar(PipelineError):
    """Records have times after the year 9999 or before the year 1, which the format cannot take."""

    blame = Blame.CLIENT


class ConcurrentCommit(PipelineError):
    """Somebody else committed first; the outcome of ours is known: it did not happen."""

    retriable = True


@contextmanager
def refusals_named(url: str) -> Iterator[None]:
    """What the file system refuses becomes an error that says so in a person's words."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise TargetFull(f"no space is left at {url}: {error}") from error
        raise TargetNotWritable(f"cannot write to {url}: {error}") from error

"""Errors of tables, beside those that all of the pipeline raises (``pipeline/errors.py``).

``ConcurrentCommit`` never leaves this package: whoever meets it reads the table again and decides
anew.
"""

from __future__ import annotations

import errno
import re
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
_FULL_TEXT = re.compile(r"no space left|quota exceeded|disk is full", re.IGNORECASE)
_PASSING = {
    *(errno.EIO, errno.EAGAIN, errno.EINTR, errno.EBUSY, errno.ESTALE, errno.EMFILE, errno.ENFILE),
    *(errno.ETIMEDOUT, errno.ENOTCONN, errno.ECONNREFUSED, errno.ECONNRESET, errno.ECONNABORTED),
    *(errno.EPIPE, errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ENETUNREACH, errno.ENETDOWN),
}
_DENIED_TEXT = re.compile(r"denied|forbidden|unauthor|credential|NoSuchBucket", re.IGNORECASE)
_NUMBER = re.compile(r"os error (\d+)")
"""Libraries in Rust put the system's number into the text."""


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


class TargetUnreachable(TargetNotWritable):
    """The target does not answer just now: a network, a share, a catalog."""

    blame = Blame.ENVIRONMENT
    retriable = True


class ConcurrentCommit(PipelineError):
    """Somebody else committed first, or nobody knows: read the table again, it will tell."""

    retriable = True


@contextmanager
def refusals_named(url: str) -> Iterator[None]:
    """What the file system refuses becomes an error that says so in a person's words."""
    try:
        yield
    except OSError as error:
        raise refusal(url, error) from error


def refusal(url: str, error: Exception, *, is_passing: bool = False) -> TargetNotWritable:
    """The named error for what a file system, an object store or a catalog has answered.

    ``is_passing``: whoever asks knows that it may succeed later. An object store has no numbers for
    its errors: all but those about rights may pass.
    """
    text = str(error)
    number = _number_of(error, text)
    if number in _FULL or _FULL_TEXT.search(text):
        return TargetFull(f"no space is left at {url}: {text}")
    is_nameless = number is None and "://" in url and not _DENIED_TEXT.search(text)
    if is_passing or number in _PASSING or is_nameless:
        return TargetUnreachable(f"{url} does not answer: {text}")
    return TargetNotWritable(f"cannot write to {url}: {text}")


def _number_of(error: Exception, text: str) -> int | None:
    number = getattr(error, "errno", None)
    if number is None and (found := _NUMBER.search(text)):
        number = int(found.group(1))
    return number

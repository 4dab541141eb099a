"""What ``pyiceberg`` and its catalogs raise, in a person's words; and whether waiting can help."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyiceberg.exceptions import (
    CommitStateUnknownException,
    RESTError,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
    ValidationError,
)

from headrace.pipeline.errors import SchemaConflict
from headrace.pipeline.tables.errors import refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

_PASSING = (
    CommitStateUnknownException,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
)
_FORBIDDEN = re.compile("readonly|unable to open")
"""Words of SQLite, which has one class of error for this and for a lock that passes."""


@contextmanager
def errors_named(url: str) -> Iterator[None]:
    from sqlalchemy.exc import OperationalError, SQLAlchemyError

    try:
        yield
    except ValidationError as error:
        raise SchemaConflict(f"{url} cannot take these columns: {error}") from error
    except (OSError, SQLAlchemyError, RESTError) as error:
        is_silent = isinstance(error, OSError) and error.errno is None  # of a network library
        is_locked = isinstance(error, OperationalError) and not _FORBIDDEN.search(str(error))
        is_passing = is_silent or is_locked or isinstance(error, _PASSING)
        raise refusal(url, error, is_passing=is_passing) from error

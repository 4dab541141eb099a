"""Paths in a definition are meant from where its file is, whoever runs it from wherever.

A URL stays as it is, and so does what begins with a variable (``${LAKE}/orders``).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

REGISTRY = "registry"
"""The one kind of schema that names no file."""


def is_url(place: str) -> bool:
    return "://" in place or place.startswith("file:")


def seen_from(directory: Path, place: str) -> str:
    """As an absolute path; ``~`` is the user's home."""
    if is_url(place) or place.startswith("${"):
        return place
    return str(directory / os.path.expanduser(place))


def schema_seen_from(directory: Path, schema: str) -> str:
    """The same for the file in ``avro:order.avsc``."""
    kind, _, rest = schema.partition(":")
    return f"{kind}:{seen_from(directory, rest)}" if rest and kind != REGISTRY else schema

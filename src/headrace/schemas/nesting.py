"""How deep a schema is nested. Everything that walks a schema recurses: so depth has a limit."""

from __future__ import annotations

from typing import Any

from headrace.schemas.errors import InvalidSchema

NESTING_MAX = 128
"""Some forty records within one another, in Avro; far below what Python's stack takes."""


def raise_if_too_deep(root: Any) -> None:
    """InvalidSchema if lists and objects are nested more than ``NESTING_MAX`` deep."""
    level = [root]
    for _ in range(NESTING_MAX):
        level = [
            child
            for node in level
            if isinstance(node, dict | list)
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return
    raise InvalidSchema(f"the schema is nested more than {NESTING_MAX} deep")

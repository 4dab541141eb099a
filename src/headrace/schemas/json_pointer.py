"""Where a ``$ref`` leads: into its own document, or into one that was named as a reference."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag

from headrace.schemas.errors import InvalidSchema

STEPS_MAX = 100
"""References that may lead to one another; more are taken for a circle."""


class Document(NamedTuple):
    """A schema, and by name the documents that it may refer to."""

    root: Any
    others: dict[str, Any]


class Place(NamedTuple):
    """A part of a schema, and the root of the document that it is in."""

    node: Any
    root: Any


def resolve(document: Document, place: Place) -> Place:
    """Follow ``$ref`` until there is none."""
    for _ in range(STEPS_MAX):
        if not isinstance(place.node, dict) or not isinstance(place.node.get("$ref"), str):
            return place
        place = follow(document, place.root, place.node["$ref"])
    raise InvalidSchema(f"{place.node['$ref']!r} refers to itself")


def follow(document: Document, root: Any, reference: str) -> Place:
    """One step: the place that ``reference``, found under ``root``, points at."""
    address, fragment = urldefrag(reference)
    if address and not (isinstance(root, dict) and address == root.get("$id", root.get("id"))):
        if address not in document.others:
            raise InvalidSchema(f"{reference!r} is neither in the schema nor in its references")
        root = document.others[address]
    return Place(_at(root, unquote(fragment), reference), root)


def _at(root: Any, pointer: str, reference: str) -> Any:
    if pointer and not pointer.startswith("/"):
        return _anchored(root, pointer, reference)
    node = root
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and name in node:
            node = node[name]
        elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
            node = node[int(name)]
        else:
            raise InvalidSchema(f"{reference!r} points at nothing")
    return node


def _anchored(node: Any, anchor: str, reference: str) -> Any:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if node.get("$anchor") == anchor or node.get("$id") == f"#{anchor}":
                return node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    raise InvalidSchema(f"{reference!r} points at nothing")

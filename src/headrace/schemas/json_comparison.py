"""Does a reader's JSON Schema accept every document that a writer's schema allows?

No kept library answers this, so these are the rules of Confluent's documentation: bounds may only
widen, and a property may be added only where the writer could not have written it with another
meaning (its content model was closed, or said the same of it). In doubt the answer is no.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.schemas.json_pointer import Place, resolve

if TYPE_CHECKING:
    from headrace.schemas.json_pointer import Document

TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
NAMES_OF_TYPES: dict[type, str] = {
    bool: "boolean",
    dict: "object",
    int: "integer",
    list: "array",
    str: "string",
    type(None): "null",
}
UPPER_BOUNDS = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
LOWER_BOUNDS = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
MUST_BE_EQUAL = ("pattern", "not", "contains", "propertyNames", "if", "then", "else")
PROBLEMS_MAX = 100
PAIRS_MAX = 100_000
"""Pairs of places that one comparison looks at; beyond it, the schemas count as incompatible."""


class Comparison:
    """One question: reader against writer."""

    def __init__(self, reader: Document, writer: Document) -> None:
        self._reader = reader
        self._writer = writer
        self._known: dict[tuple[int, int], list[str]] = {}
        self._made_up: list[Any] = []
        """Nodes of our own: kept, because what is known is known by identity."""
        self._pairs = 0

    def problems(self) -> list[str]:
        reader = Place(self._reader.root, self._reader.root)
        writer = Place(self._writer.root, self._writer.root)
        return self._compare(reader, writer, "#")[:PROBLEMS_MAX]

    def _compare(self, reader: Place, writer: Place, path: str) -> list[str]:
        reader, writer = resolve(self._reader, reader), resolve(self._writer, writer)
        self._pairs += 1
        if self._pairs > PAIRS_MAX:
            return [f"{path}: the schemas are too large to be compared"]
        if reader.node in (True, {}) or writer.node is False:
            return []
        if reader.node is False:
            return [f"{path}: nothing is accepted any more"]
        pair = (id(reader.node), id(writer.node))
        if pair not in self._known:
            self._known[pair] = []  # a schema that contains itself: taken as accepted meanwhile
            node = {} if writer.node is True else writer.node
            self._known[pair] = self._compare_objects(reader, Place(node, writer.root), path)
        return self._known[pair]

    def _compare_objects(self, reader: Place, writer: Place, path: str) -> list[str]:
        direct = self._own_keywords(reader, writer, path)
        direct += self._combinations(reader, writer, path)
        if not direct:
            return []
        for name in ("anyOf", "oneOf"):
            branches = writer.node.get(name)
            if branches and self._accepts_all(reader, writer, branches, path):
                return []
        for part in writer.node.get("allOf", ()):
            if not self._compare(reader, Place(part, writer.root), path):
                return []
        return direct

    def _accepts_all(self, reader: Place, writer: Place, branches: list[Any], path: str) -> bool:
        rest = {k: v for k, v in writer.node.items() if k not in ("anyOf", "oneOf")}
        for branch in branches:
            part = resolve(self._writer, Place(branch, writer.root))
            if isinstance(part.node, dict) and part.root is writer.root:
                part = Place({**rest, **part.node}, part.root)
                self._made_up.append(part.node)
            if self._compare(reader, part, path):
                return False
        return True

    def _combinations(self, reader: Place, writer: Place, path: str) -> list[str]:
        found: list[str] = []
        for index, part in enumerate(reader.node.get("allOf", ())):
            found += self._compare(Place(part, reader.root), writer, f"{path}/allOf/{index}")
        for name in ("anyOf", "oneOf"):
            branches = reader.node.get(name)
            if branches is None or reader.node.get(name) == writer.node.get(name):
                continue
            if all(self._compare(Place(b, reader.root), writer, path) for b in branches):
                found.append(f"{path}/{name}: no branch accepts what was written")
        return found

    def _own_keywords(self, reader: Place, writer: Place, path: str) -> list[str]:
        new, old = reader.node, writer.node
        found = _types(new, old, path) + _values(new, old, path) + _bounds(new, old, path)
        found += [
            f"{path}/{name}: added or changed"
            for name in MUST_BE_EQUAL
            if name in new and new[name] != old.get(name)
        ]
        if "object" in _types_of(new) & _types_of(old):
            found += self._objects(reader, writer, path)
        if "array" in _types_of(new) & _types_of(old):
            found += self._arrays(reader, writer, path)
        return found

    def _objects(self, reader: Place, writer: Place, path: str) -> list[str]:
        found: list[str] = []
        new, old = reader.node.get("properties", {}), writer.node.get("properties", {})
        for name in sorted({*new, *old}):
            if name not in new and name in reader.node.get("patternProperties", {}):
                continue
            here = f"{path}/properties/{name}"
            mine = Place(new.get(name, _rest(reader.node)), reader.root)
            theirs = Place(old.get(name, _rest(writer.node)), writer.root)
            problems = self._compare(mine, theirs, here)
            if problems and name not in old:
                problems = [f"{here}: added, but the writer's content model left it open"]
            elif problems and name not in new:
                problems = [f"{here}: removed, and the reader's content model has no place for it"]
            found += problems
        found += _required(reader.node, writer.node, path)
        found += self._patterns(reader, writer, path)
        here = f"{path}/additionalProperties"
        mine = Place(_rest(reader.node), reader.root)
        return found + self._compare(mine, Place(_rest(writer.node), writer.root), here)

    def _patterns(self, reader: Place, writer: Place, path: str) -> list[str]:
        found: list[str] = []
        new = reader.node.get("patternProperties", {})
        old = writer.node.get("patternProperties", {})
        for pattern in sorted({*new, *old}):
            mine = Place(new.get(pattern, _rest(reader.node)), reader.root)
            theirs = Place(old.get(pattern, _rest(writer.node)), writer.root)
            found += self._compare(mine, theirs, f"{path}/patternProperties/{pattern}")
        return found

    def _arrays(self, reader: Place, writer: Place, path: str) -> list[str]:
        found: list[str] = []
        if reader.node.get("uniqueItems") and not writer.node.get("uniqueItems"):
            found.append(f"{path}/uniqueItems: added")
        (new, new_rest), (old, old_rest) = _items(reader.node), _items(writer.node)
        for index in range(max(len(new), len(old))):
            mine = Place(new[index] if index < len(new) else new_rest, reader.root)
            theirs = Place(old[index] if index < len(old) else old_rest, writer.root)
            found += self._compare(mine, theirs, f"{path}/items/{index}")
        mine, theirs = Place(new_rest, reader.root), Place(old_rest, writer.root)
        return found + self._compare(mine, theirs, f"{path}/items")


def _rest(node: Any) -> Any:
    return node.get("additionalProperties", node.get("unevaluatedProperties", True))


def _items(node: Any) -> tuple[list[Any], Any]:
    """The schemas of the first items, and that of all further ones; in old and new drafts."""
    items = node.get("items", True)
    if isinstance(items, list):
        return items, node.get("additionalItems", True)
    return node.get("prefixItems", []), items


def _types_of(node: Any) -> frozenset[str]:
    types = node.get("type")
    if types is None:
        values = _enumerated(node)
        return TYPES if values is None else frozenset(_type_of(value) for value in values)
    named = frozenset([types] if isinstance(types, str) else types)
    return named | {"integer"} if "number" in named else named


def _type_of(value: Any) -> str:
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return NAMES_OF_TYPES[type(value)]


def _types(new: Any, old: Any, path: str) -> list[str]:
    missing = sorted(_types_of(old) - _types_of(new))
    return [f"{path}/type: {', '.join(missing)} is no longer accepted"] if missing else []


def _values(new: Any, old: Any, path: str) -> list[str]:
    allowed = _enumerated(new)
    if allowed is None:
        return []
    written = _enumerated(old)
    if written is None:
        return [f"{path}/enum: added"]
    missing = [value for value in written if value not in allowed]
    return [f"{path}/enum: {missing} is no longer accepted"] if missing else []


def _enumerated(node: Any) -> list[Any] | None:
    if "const" in node:
        return [node["const"]]
    found = node.get("enum")
    return list(found) if found is not None else None


def _bounds(new: Any, old: Any, path: str) -> list[str]:
    found: list[str] = []
    for names, sign in ((UPPER_BOUNDS, 1), (LOWER_BOUNDS, -1)):
        for name in names:
            mine, theirs = new.get(name), old.get(name)
            if mine is None or mine is False:
                continue
            if isinstance(mine, bool):  # draft 4: exclusiveMaximum is a flag
                narrower = theirs is not True
            else:
                narrower = theirs is None or isinstance(theirs, bool) or sign * (mine - theirs) < 0
            if narrower:
                found.append(f"{path}/{name}: added or narrowed")
    step, written = new.get("multipleOf"), old.get("multipleOf")
    if step is not None and (written is None or written % step != 0):
        found.append(f"{path}/multipleOf: added or changed")
    return found


def _required(new: Any, old: Any, path: str) -> list[str]:
    written = old.get("required", ())
    properties = new.get("properties", {})
    return [
        f"{path}/required: {name} was added without a default"
        for name in new.get("required", ())
        if name not in written and not _has_default(properties.get(name))
    ]


def _has_default(node: Any) -> bool:
    return isinstance(node, dict) and "default" in node

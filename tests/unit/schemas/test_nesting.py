"""Depth has a limit, breadth has none."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.schemas.errors import InvalidSchema
from headrace.schemas.kinds import parse
from headrace.schemas.model import Kind
from headrace.schemas.nesting import NESTING_MAX, raise_if_too_deep


def nested(depth: int) -> Any:
    root: Any = "leaf"
    for level in range(depth):
        root = [root] if level % 2 else {"items": root}
    return root


def test_limit() -> None:
    raise_if_too_deep(nested(NESTING_MAX - 1))
    raise_if_too_deep([[1, 2, 3]] * 10_000)
    with pytest.raises(InvalidSchema, match="deep"):
        raise_if_too_deep(nested(NESTING_MAX))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.AVRO, '{"type":"array","items":' * 300 + '"int"' + "}" * 300),
        (Kind.JSON, '{"items":' * 300 + "{}" + "}" * 300),
        (Kind.PROTOBUF, 'syntax="proto3";' + "message M{" * 300 + "}" * 300),
    ],
)
def test_every_kind_refuses_what_is_too_deep(kind: Kind, text: str) -> None:
    with pytest.raises(InvalidSchema, match="deep"):
        parse(kind, text)
